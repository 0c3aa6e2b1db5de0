import { scaleTo, splitBy } from '@millrace/sdk/text';
import { truncateTo, padTo, safeText, widthOf } from '../framework/text.ts';

/** Draws a bar chart as text: a label, a bar in eighths of a cell, and the amount, which is never omitted. */

export interface Bar {
  readonly label: string;
  readonly value: bigint;
  /** The value as text. */
  readonly text: string;
}

export interface BarOptions {
  readonly columns: number;
  /** Colours the bar. */
  readonly paint?: (bar: string) => string;
}

const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;
const gap = '  ';
const MAX_LABEL_WIDTH = 32;
const MAX_BAR_WIDTH = 60;
/** Shorter bars show nothing that the number does not. */
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

/** Labels are truncated before amounts: the start of a name is recognisable, a partial number is wrong. */
function labelWidth(bars: readonly Bar[], most: number): number {
  const longest = Math.max(0, ...bars.map(({ label }) => widthOf(safeText(label))));
  return Math.max(1, Math.min(longest, MAX_LABEL_WIDTH, most));
}

function barOf(value: bigint, most: bigint, cells: number): { readonly bar: string; readonly width: number } {
  const [count, rest] = splitBy(scaleTo(value, most, cells * eighths.length), eighths.length);
  const end = eighths[rest] ?? '';
  return { bar: '█'.repeat(count) + end, width: count + (end === '' ? 0 : 1) };
}
