/** Every operator action is recorded in the audit log with a reason. */
const REASON_MIN_LENGTH = 3;
export const REASON_MAX_LENGTH = 500;

/** Validation message for a reason; false if valid. */
export function reasonIssue(reason: string): string | false {
  const { length } = reason.trim();
  if (length < REASON_MIN_LENGTH) return 'Enter a reason for the audit log.';
  return (
    length > REASON_MAX_LENGTH && `The reason is ${String(length - REASON_MAX_LENGTH)} characters too long.`
  );
}
