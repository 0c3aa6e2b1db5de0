import { divideWithRemainder } from '@millrace/platform/money';
import { moveUuidTime, parseId, moveIdTime, idKinds, type AnyId, type IdKind } from '@millrace/platform/ids';

/**
 * Moves everything in a text that stands for a time: timestamps, ids, which contain their time of creation, and Unix milliseconds
 * in fields whose name ends in Ms. Equal texts stay equal and the order of times stays the same. Pure.
 */

const timestamp = /(\d{4}-\d{2}-\d{2})([ T])(\d{2}:\d{2}:\d{2})(\.\d{1,6})?(Z|\+00)/g;
const uuid = /(?<![0-9a-f])[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}(?![0-9a-f])/g;
const textId = /(?<![A-Za-z0-9])([a-z]{2,3})_[0-7][0-9A-HJKMNP-TV-Z]{25}(?![A-Za-z0-9])/g;
const unixMs = /(?<=Ms\\?": ?)\d{13}(?!\d)/g;

export function moveInTime(text: string, byMs: number): string {
  return text
    .replaceAll(
      timestamp,
      (_, day: string, separator: string, time: string, fraction: string | undefined, zone: string) => {
        const moved = new Date(
          Date.parse(`${day}T${time}.${msDigits(fraction ?? '')}Z`) + byMs,
        ).toISOString();
        return `${moved.slice(0, 10)}${separator}${moved.slice(11, 19)}${movedFraction(moved, fraction ?? '')}${zone}`;
      },
    )
    .replaceAll(uuid, (found) => (isBoundary(found) ? found : moveUuidTime(found, byMs)))
    .replaceAll(textId, (found: string, kind: string) => movedId(found, kind, byMs))
    .replaceAll(unixMs, (found) => String(Number(found) + byMs));
}

/** The largest and the smallest id of a range contain no time. */
function isBoundary(found: string): boolean {
  return found.startsWith('ffffffff-ffff') || found.startsWith('00000000-0000');
}

function msDigits(fraction: string): string {
  return fraction.slice(1, 4).padEnd(3, '0');
}

/** Keeps microseconds, which a move by whole milliseconds does not change. */
function movedFraction(moved: string, fraction: string): string {
  const digits = `${moved.slice(20, 23)}${fraction.slice(4)}`;
  return fraction === '' && digits === '000' ? '' : `.${digits}`;
}

const kinds: ReadonlySet<string> = new Set(idKinds);

function movedId(text: string, kind: string, byMs: number): string {
  if (!kinds.has(kind)) return text;
  const id: AnyId | null = parseId(kind as IdKind, text);
  return id === null ? text : moveIdTime(id, byMs);
}

const DAY_MS = 86_400_000;
const HALF_DAY_MS = 43_200_000;

/** The nearest number of whole days, in milliseconds. */
function roundToDays(ms: number): number {
  return divideWithRemainder(ms + HALF_DAY_MS, DAY_MS)[0] * DAY_MS;
}

/** Moves a date by whole days. */
export function moveDate(date: string, byMs: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + roundToDays(byMs)).toISOString().slice(0, 10);
}
