import { splitBy } from './units.ts';

/** Formats and parses durations. */

const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

function durationUnits(seconds: number): readonly string[] {
  let left = seconds;
  const texts: string[] = [];
  for (const [name, size] of units) {
    const [count, rest] = splitBy(left, size);
    left = rest;
    if (count > 0) texts.push(`${count} ${name}`);
  }
  return texts;
}

/** To the second: `1 h 2 min 5 s`. For charged time. */
export function exactDuration(seconds: number): string {
  return durationUnits(Math.floor(seconds)).join(' ') || '0 s';
}

/** The two largest units, marked if rounded: `about 3 d 4 h`. For estimates. */
export function approximateDuration(seconds: number): string {
  const texts = durationUnits(Math.floor(seconds));
  if (texts.length === 0) return 'less than 1 s';
  return texts.length > 2 ? `about ${texts.slice(0, 2).join(' ')}` : texts.join(' ');
}

/** An elapsed time: tenths below ten seconds, then whole seconds. */
export function elapsedText(ms: number): string {
  return ms < 9_950 ? `${(Math.max(0, ms) * 0.001).toFixed(1)} s` : exactDuration(Math.round(ms * 0.001));
}

/** A time relative to now: `5 min ago` with the largest unit only, `in about 3 d 4 h`. */
export function relativeText(instant: string, nowMs: number): string {
  const seconds = (Date.parse(instant) - nowMs) * 0.001;
  return seconds < 0
    ? `${durationUnits(Math.floor(-seconds))[0] ?? 'less than 1 s'} ago`
    : `in ${approximateDuration(seconds)}`;
}

const secondsOf: Readonly<Record<string, number>> = { s: 1, m: 60, min: 60, h: 3_600, d: 86_400, w: 604_800 };

/** The seconds of `90`, `45s`, `30m`, `2h`, `1d12h`; null if invalid. */
export function parseDuration(text: string): number | null {
  const trimmed = text.trim();
  if (/^\d{1,10}$/.test(trimmed)) return Number(trimmed);
  if (!/^(?:\d{1,9}\s*(?:s|min|m|h|d|w)\s*)+$/.test(trimmed)) return null;
  let total = 0;
  for (const [, count = '0', unit = 's'] of trimmed.matchAll(/(\d{1,9})\s*(s|min|m|h|d|w)/g)) {
    total += Number(count) * (secondsOf[unit] ?? 1);
  }
  return total;
}
