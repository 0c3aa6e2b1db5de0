const LARGEST = 2_147_483_647;

/** Why a text is not the number of a volume; false where it is one. */
export function volumeIdIssue(text: string): string | false {
  const isNumber = /^[1-9]\d{0,9}$/.test(text) && Number(text) <= LARGEST;
  return isNumber ? false : 'Enter the number of the volume.';
}
