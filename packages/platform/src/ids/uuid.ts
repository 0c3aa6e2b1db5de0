import { randomFillSync } from 'node:crypto';
import type { Clock } from '../clock/index.ts';

/**
 * The 128 bits of every id, high to low:
 *
 *     48  Unix milliseconds
 *      4  version, 7
 *     12  counter: ids made in one millisecond sort in the order they were made
 *      2  variant, 10
 *     10  cell that made it
 *     52  random
 */
export type CellId = number;

export const maxCell = 1023;
const maxUnixMs = 2 ** 48 - 1;
const maxCounter = 4095;
// The counter starts low in each millisecond (RFC 9562, 6.2), which leaves room for at least 2048 ids
// before the generator has to borrow the next millisecond.
const counterSeedMask = 0x7ff;

const versionShift = 76n;
const variantShift = 62n;
const cellShift = 52n;
const randomMask = (1n << cellShift) - 1n;

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Fills a buffer with random bytes. Injected so that a simulation can be replayed from its seed. */
export type FillRandom = (bytes: Uint8Array) => void;

export function assertCell(cell: CellId): void {
  if (!Number.isInteger(cell) || cell < 0 || cell > maxCell) {
    throw new RangeError(`A cell is a whole number from 0 to ${maxCell}; got ${cell}.`);
  }
}

/** Whether these 128 bits are a UUID of version 7 in the standard variant. */
export function isVersion7(bits: bigint): boolean {
  return ((bits >> versionShift) & 15n) === 7n && ((bits >> variantShift) & 3n) === 2n;
}

export function bitsToUuid(bits: bigint): string {
  const hex = bits.toString(16).padStart(32, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The bits of a canonical (lower case, hyphenated) version 7 UUID, or null. */
export function uuidToBits(uuid: string): bigint | null {
  return uuidPattern.test(uuid) ? BigInt(`0x${uuid.replaceAll('-', '')}`) : null;
}

export function cellOfBits(bits: bigint): CellId {
  return Number((bits >> cellShift) & BigInt(maxCell));
}

export function timeOfBits(bits: bigint): number {
  return Number(bits >> 80n);
}

/**
 * Makes ever greater ids. When the wall clock stands still, steps back, or more than the counter can hold
 * is asked of one millisecond, the generator stays ahead of the clock instead of repeating or going back.
 */
export function createBitsSource(options: { clock: Clock; cell: CellId; random?: FillRandom }): () => bigint {
  const { clock, cell, random: fillRandom = randomFillSync } = options;
  assertCell(cell);
  const bytes = new Uint8Array(8);
  const view = new DataView(bytes.buffer);
  const cellBits = BigInt(cell) << cellShift;
  let lastMs = -1;
  let counter = 0;

  return () => {
    fillRandom(bytes);
    const word = view.getBigUint64(0);
    const seed = Number(word >> cellShift) & counterSeedMask;
    const nowMs = Math.trunc(clock.nowMs());
    if (nowMs > lastMs) {
      lastMs = nowMs;
      counter = seed;
    } else if (counter < maxCounter) {
      counter += 1;
    } else {
      lastMs += 1;
      counter = seed;
    }
    if (lastMs < 0 || lastMs > maxUnixMs) throw new RangeError(`The clock is out of range: ${lastMs} ms.`);
    return (
      (BigInt(lastMs) << 80n) |
      (7n << versionShift) |
      (BigInt(counter) << 64n) |
      (2n << variantShift) |
      cellBits |
      (word & randomMask)
    );
  };
}
