/** How often `size` goes into `value`, and what is left. The one place of our clients that divides. */
export function splitBy(value: number, size: number): readonly [whole: number, rest: number] {
  // oxlint-disable-next-line house/divide-only-in-money -- nothing is charged here: seconds become minutes, cells become bars
  const whole = Math.floor(value / size);
  return [whole, value - whole * size];
}

/** How many of `size` units stand for `value` when all of them stand for `most`. Rounded down; never none for something. */
export function scaleTo(value: bigint, most: bigint, size: number): number {
  if (value <= 0n || most <= 0n) return 0;
  // oxlint-disable-next-line house/divide-only-in-money -- a width on the screen
  return Math.max(1, Math.min(size, Number((value * BigInt(size)) / most)));
}

/** A share in whole percent, rounded down: what is not all never shows as 100. */
export function percentOf(value: bigint, most: bigint): number {
  if (most <= 0n) return 0;
  // oxlint-disable-next-line house/divide-only-in-money -- a percentage for the eye
  return Number((value * 100n) / most);
}

/** Things a second, in tenths: `31.4`. */
export function perSecond(count: number, ms: number): string {
  // oxlint-disable-next-line house/divide-only-in-money -- the speed of an answer
  return ((count * 1000) / Math.max(1, ms)).toFixed(1);
}

/** What part of `most` a value is; none of nothing. */
export function ratio(value: number, most: number): number {
  // oxlint-disable-next-line house/divide-only-in-money -- the height of a bar, the mean of measurements
  return most <= 0 ? 0 : value / most;
}
