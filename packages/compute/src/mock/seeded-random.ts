import { createHash } from 'node:crypto';
import { ratio } from '@millrace/platform/money';

/** Bytes that depend on the seed and on what they are for, and on nothing else: every process throws the same. */
export function seededBytes(seed: string, ...what: readonly (string | number)[]): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([seed, ...what]))
    .digest();
}

/** A whole number from `min` to `max`, both included. */
export function seededInt(min: number, max: number, seed: string, ...what: (string | number)[]): number {
  const fraction = ratio(seededBytes(seed, ...what).readUInt32BE(0), 2 ** 32);
  return min + Math.floor(fraction * (max - min + 1));
}
