/** Validates typed numbers. Each function returns a message, or false if the number is valid. */

export function integerIssue(
  what: string,
  text: string,
  { min, max }: { readonly min: number; readonly max: number },
): string | false {
  const value = Number(text);
  if (/^\d+$/.test(text.trim()) && value >= min && value <= max) return false;
  return `${what} must be a whole number from ${String(min)} to ${String(max)}.`;
}

export function percentIssue(what: string, text: string): string | false {
  if (/^\d{1,3}(?:\.\d{1,4})?$/.test(text.trim()) && Number(text) <= 100) return false;
  return `${what} must be a percentage from 0 to 100 with at most four decimals.`;
}
