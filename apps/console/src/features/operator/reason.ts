/** Every act of an operator leaves a line in the audit log, with a reason in words. */
const reasonMin = 3;
export const reasonMax = 500;

/** Why a reason will not do yet; false where it will. */
export function reasonLack(reason: string): string | false {
  const { length } = reason.trim();
  if (length < reasonMin) return 'Say why first: the reason goes to the audit log.';
  return length > reasonMax && `The reason is ${String(length - reasonMax)} characters too long.`;
}
