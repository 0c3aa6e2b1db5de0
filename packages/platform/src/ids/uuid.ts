import { randomFillSync } from 'node:crypto';
import type { Clock } from '../clock/index.ts';

/**
 * The 128 bits of every id, high to low:
 *
 *     48  Unix milliseconds
 *      4  version, 7
 *     12  counter: orders the ids of one millisecond
 *      2  variant, 10
 *     10  cell of the creator
 *     52  random
 */
export type CellId = number;

export const maxCell = 1023;
const maxUnixMs = 2 ** 48 - 1;
const maxCounter = 4095;
// The counter starts low in each millisecond (RFC 9562, 6.2), so that at least 2048 ids fit.
const counterSeedMask = 0x7ff;

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const anyUuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether the text is a UUID of any version, in lower case with hyphens. */
export function isUuid(text: string): boolean {
  return anyUuidPattern.test(text);
}

/** Fills a buffer with random bytes. Injected so that a simulation can be replayed from its seed. */
export type FillRandom = (bytes: Uint8Array) => void;

export function assertCell(cell: CellId): void {
  if (!Number.isInteger(cell) || cell < 0 || cell > maxCell) {
    throw new RangeError(`A cell must be a whole number from 0 to ${maxCell}, but is ${cell}.`);
  }
}

// Internally ids are 32 lowercase hexadecimal digits, because text is much cheaper to slice and compare than a bigint.

export function isVersion7(hex: string): boolean {
  return hex[12] === '7' && '89ab'.includes(hex[16] ?? '-');
}

export function hexToUuid(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The digits of a canonical (lower case, hyphenated) UUID of version 7, or null. */
export function uuidToHex(uuid: string): string | null {
  return uuidPattern.test(uuid) ? uuid.replaceAll('-', '') : null;
}

/** The cell follows the two variant bits. */
export function cellOfHex(hex: string): CellId {
  return Number.parseInt(hex.slice(16, 19), 16) & maxCell;
}

export function timeOfHex(hex: string): number {
  return Number.parseInt(hex.slice(0, 12), 16);
}

const bytesPerId = 8;
// One call for random bytes costs the same for eight bytes as for many, so fetch them in advance.
const idsDrawnAhead = 256;

function createRandomReader(fillRandom: FillRandom): () => { readonly high: number; readonly low: number } {
  const bytes = Buffer.alloc(bytesPerId * idsDrawnAhead);
  let next = bytes.length;
  return () => {
    if (next >= bytes.length) {
      fillRandom(bytes);
      next = 0;
    }
    const high = bytes.readUInt16BE(next);
    const low = bytes.readUIntBE(next + 2, 6);
    next += bytesPerId;
    return { high, low };
  };
}

/** Creates increasing ids. It runs ahead of a clock that stops or steps back, instead of repeating ids. */
export function createHexSource(options: { clock: Clock; cell: CellId; random?: FillRandom }): () => string {
  const { clock, cell, random: fillRandom = randomFillSync } = options;
  assertCell(cell);
  const readRandom = createRandomReader(fillRandom);
  let lastMs = -1;
  let counter = 0;

  return () => {
    const { high, low } = readRandom();
    const seed = (high >> 4) & counterSeedMask;
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
    const variantCellAndRandom = 0x8000 | (cell << 4) | (high & 0xf);
    return (
      lastMs.toString(16).padStart(12, '0') +
      (0x7000 | counter).toString(16) +
      variantCellAndRandom.toString(16) +
      low.toString(16).padStart(12, '0')
    );
  };
}
