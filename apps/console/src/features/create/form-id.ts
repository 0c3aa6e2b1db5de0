/**
 * The id of the one form of this page. Its fields stand in several cards and name it, so that Enter in any of them creates the
 * rental, while the little form for an SSH key among them stays its own.
 */
export const FORM_ID = 'rent';
