/**
 * Id of the rent form. Fields in several cards refer to it, so that Enter submits it, while the nested SSH key form
 * stays separate.
 */
export const FORM_ID = 'rent';
