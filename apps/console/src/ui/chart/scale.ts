import { ratio } from '@millrace/sdk/text';

/** Computes the grid lines of a chart, from 0 to at least the highest point. */

/** Tick spacing: decimal for money and counts, binary for bytes, percent up to 100. */
export type ScaleBase = 'decimal' | 'binary' | 'percent';

const steps: Readonly<Record<'decimal' | 'binary', readonly number[]>> = {
  decimal: [1, 2, 2.5, 5, 10],
  binary: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024],
};
const LINES = 5;
/** Enough for every tick; removes the rounding error of 3 * 0.2. */
const DIGITS = 12;

export function scaleTicks(highest: number, base: ScaleBase, lowest = 0): readonly number[] {
  if (base === 'percent' && highest <= 100 && lowest >= 0) return [0, 25, 50, 75, 100];
  const low = Math.min(0, lowest);
  const high = highest > 0 || low < 0 ? Math.max(0, highest) : 1;
  const least = ratio(high - low, LINES);
  const unit = base === 'binary' ? 1_024 : 10;
  const power = Math.floor(ratio(Math.log(least), Math.log(unit)));
  const whole = unit ** power;
  const choices = steps[base === 'percent' ? 'decimal' : base];
  const step = whole * (choices.find((each) => each * whole >= least) ?? unit);
  const first = Math.floor(ratio(low, step));
  const count = Math.ceil(ratio(high, step)) - first;
  return Array.from({ length: count + 1 }, (_, index) =>
    Number(((first + index) * step).toPrecision(DIGITS)),
  );
}

/** Drops the decimals if all of them are zero: `64 GiB`, not `64.0 GiB`, but `$2.50` and `$5.00`. */
export function tickLabels(texts: readonly string[]): string[] {
  const short = texts.map((text) => text.replace(/(\d)\.0+(?=\D|$)/, '$1'));
  return short.some((text) => /\d\.\d/.test(text)) ? [...texts] : short;
}
