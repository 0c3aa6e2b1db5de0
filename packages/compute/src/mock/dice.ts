import { createHash } from 'node:crypto';
import { share } from '@millrace/platform/money';

/** Bytes that depend on the seed and on what they are for, and on nothing else: every process throws the same. */
export function bytesOf(seed: string, ...what: readonly (string | number)[]): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([seed, ...what]))
    .digest();
}

/** A whole number from `from` to `to`, both included. */
export function pickInt(
  from: number,
  to: number,
  seed: string,
  ...what: readonly (string | number)[]
): number {
  const fraction = share(bytesOf(seed, ...what).readUInt32BE(0), 2 ** 32);
  return from + Math.floor(fraction * (to - from + 1));
}
