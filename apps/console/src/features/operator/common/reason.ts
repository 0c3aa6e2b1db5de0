/** Every act of an operator leaves a line in the audit log, with a reason in words. */
const REASON_MIN_LENGTH = 3;
export const REASON_MAX_LENGTH = 500;

/** Why a reason will not do yet; false where it will. */
export function reasonIssue(reason: string): string | false {
  const { length } = reason.trim();
  if (length < REASON_MIN_LENGTH) return 'Say why first: the reason goes to the audit log.';
  return (
    length > REASON_MAX_LENGTH && `The reason is ${String(length - REASON_MAX_LENGTH)} characters too long.`
  );
}
