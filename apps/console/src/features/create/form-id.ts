/** Fields in several cards belong to this form, so that Enter submits it; the SSH key form stays separate. */
export const FORM_ID = 'rent';
