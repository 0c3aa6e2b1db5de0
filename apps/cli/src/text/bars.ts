import { scaleTo, splitBy } from '@millrace/sdk/text';
import { truncateTo, padTo, safeText, widthOf } from '../framework/text.ts';

/** A bar chart of text: a label, a bar in eighths of a cell, and the amount itself, which is never left off. */

export interface Bar {
  readonly label: string;
  readonly value: bigint;
  /** The value in words: what the bar only shows. */
  readonly text: string;
}

export interface BarOptions {
  /** The width of the terminal. */
  readonly columns: number;
  /** Draws the bar itself, as colour does. */
  readonly paint?: (bar: string) => string;
}

const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;
const gap = '  ';
const MAX_LABEL_WIDTH = 32;
const MAX_BAR_WIDTH = 60;
/** Below this a bar tells nothing that its number does not. */
const MIN_BAR_WIDTH = 4;

export function barChart(bars: readonly Bar[], { columns, paint = (bar) => bar }: BarOptions): string[] {
  const texts = Math.max(0, ...bars.map(({ text }) => widthOf(text)));
  const labels = labelWidth(bars, columns - gap.length - texts);
  const left = columns - labels - texts - 2 * gap.length;
  const cells = left < MIN_BAR_WIDTH ? 0 : Math.min(MAX_BAR_WIDTH, left);
  const most = bars.reduce((top, { value }) => (value > top ? value : top), 0n);
  return bars.map(({ label, value, text }) => {
    const name = padTo(truncateTo(safeText(label), labels), labels);
    const amount = padTo(text, texts, 'right');
    if (cells === 0) return [name, amount].join(gap);
    const { bar, width } = barOf(value, most, cells);
    return [name, paint(bar) + ' '.repeat(cells - width), amount].join(gap);
  });
}

/** Labels are cut before amounts are: a long name is still known by its beginning, a part of a number is a lie. */
function labelWidth(bars: readonly Bar[], most: number): number {
  const longest = Math.max(0, ...bars.map(({ label }) => widthOf(safeText(label))));
  return Math.max(1, Math.min(longest, MAX_LABEL_WIDTH, most));
}

function barOf(value: bigint, most: bigint, cells: number): { readonly bar: string; readonly width: number } {
  const [count, rest] = splitBy(scaleTo(value, most, cells * eighths.length), eighths.length);
  const end = eighths[rest] ?? '';
  return { bar: '█'.repeat(count) + end, width: count + (end === '' ? 0 : 1) };
}
