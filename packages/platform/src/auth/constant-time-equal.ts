import { timingSafeEqual } from 'node:crypto';

/** Whether a text that was sent equals the right one. The time that it takes depends on the lengths alone. */
export function isEqualConstantTime(right: string, sent: string): boolean {
  const [expected, given] = [Buffer.from(right), Buffer.from(sent)];
  return expected.length === given.length && timingSafeEqual(expected, given);
}
