import { createHash } from 'node:crypto';
import { ratio } from '@millrace/platform/money';

/** Deterministic bytes from the seed and a purpose, so that all processes agree. */
export function seededBytes(seed: string, ...what: readonly (string | number)[]): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([seed, ...what]))
    .digest();
}

/** Both bounds are included. */
export function seededInt(min: number, max: number, seed: string, ...what: (string | number)[]): number {
  const fraction = ratio(seededBytes(seed, ...what).readUInt32BE(0), 2 ** 32);
  return min + Math.floor(fraction * (max - min + 1));
}
