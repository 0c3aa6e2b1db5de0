/** Integer division with remainder. The only place of the clients that divides. */
export function splitBy(value: number, size: number): readonly [whole: number, rest: number] {
  // oxlint-disable-next-line house/divide-only-in-money -- nothing is charged here: seconds become minutes, cells become bars
  const whole = Math.floor(value / size);
  return [whole, value - whole * size];
}

/** Scales `value` from `most` to `size` units, rounded down, but at least 1 for a positive value. */
export function scaleTo(value: bigint, most: bigint, size: number): number {
  if (value <= 0n || most <= 0n) return 0;
  // oxlint-disable-next-line house/divide-only-in-money -- a width on the screen
  return Math.max(1, Math.min(size, Number((value * BigInt(size)) / most)));
}

/** Whole percent, rounded down, so that only the whole shows as 100. */
export function percentOf(value: bigint, most: bigint): number {
  if (most <= 0n) return 0;
  // oxlint-disable-next-line house/divide-only-in-money -- a percentage for the eye
  return Number((value * 100n) / most);
}

/** Items per second, in tenths: `31.4`. */
export function perSecond(count: number, ms: number): string {
  // oxlint-disable-next-line house/divide-only-in-money -- the speed of an answer
  return ((count * 1000) / Math.max(1, ms)).toFixed(1);
}

/** `value` as a share of `most`; 0 if `most` is 0. */
export function ratio(value: number, most: number): number {
  // oxlint-disable-next-line house/divide-only-in-money -- the height of a bar, the mean of measurements
  return most <= 0 ? 0 : value / most;
}
