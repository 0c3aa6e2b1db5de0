import { ratio } from '@millrace/sdk/text';

/** Computes the grid lines of a chart, from 0 to at least the highest point. */

/** Tick spacing: decimal for money and counts, binary for bytes, percent up to 100. */
export type ScaleBase = 'decimal' | 'binary' | 'percent';

const steps: Readonly<Record<'decimal' | 'binary', readonly number[]>> = {
  decimal: [1, 2, 2.5, 5, 10],
  binary: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024],
};
const LINES = 5;

export function scaleTicks(highest: number, base: ScaleBase): readonly number[] {
  if (base === 'percent') return [0, 25, 50, 75, 100];
  const high = highest > 0 ? highest : 1;
  const least = ratio(high, LINES);
  const unit = base === 'binary' ? 1_024 : 10;
  const power = Math.floor(ratio(Math.log(least), Math.log(unit)));
  const whole = unit ** power;
  const step = whole * (steps[base].find((each) => each * whole >= least) ?? unit);
  const count = Math.ceil(ratio(high, step));
  return Array.from({ length: count + 1 }, (_, index) => index * step);
}

/** Drops trailing zero decimals: `64 GiB`, not `64.0 GiB`. */
export function tickLabel(text: string): string {
  return text.replace(/(\d)\.0+(?=\D|$)/, '$1');
}
