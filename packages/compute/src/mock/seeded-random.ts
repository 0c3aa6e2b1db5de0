import { createHash } from 'node:crypto';
import { ratio } from '@millrace/platform/money';

/** Bytes that depend on the seed and on what they are for, and on nothing else: every process throws the same. */
export function seededBytes(seed: string, ...what: readonly (string | number)[]): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([seed, ...what]))
    .digest();
}

/** A whole number from `from` to `to`, both included. */
export function seededInt(
  from: number,
  to: number,
  seed: string,
  ...what: readonly (string | number)[]
): number {
  const fraction = ratio(seededBytes(seed, ...what).readUInt32BE(0), 2 ** 32);
  return from + Math.floor(fraction * (to - from + 1));
}
