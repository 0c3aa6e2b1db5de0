import { timingSafeEqual } from 'node:crypto';

/** Compares a received secret in a time that depends only on the lengths. */
export function isEqualConstantTime(right: string, sent: string): boolean {
  const [expected, given] = [Buffer.from(right), Buffer.from(sent)];
  return expected.length === given.length && timingSafeEqual(expected, given);
}
