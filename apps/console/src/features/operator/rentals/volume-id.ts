const LARGEST = 2_147_483_647;

/** Validation message for a volume number; false if valid. */
export function volumeIdIssue(text: string): string | false {
  const isNumber = /^[1-9]\d{0,9}$/.test(text) && Number(text) <= LARGEST;
  return isNumber ? false : 'Enter the volume number.';
}
