import { sampleInterval } from './gaps.ts';
import type { ChartProps, TimeRange } from './types.ts';

const halfDaySeconds = 43_200;
/** A line of one sample shows ten minutes. */
const loneSampleMarginSeconds = 300;

/** All times that a chart shows: its samples, and half a day on each side of bars, which are a day wide. */
export function wholeRange(seconds: readonly number[], kind: ChartProps['kind']): TimeRange {
  const lineMargin = seconds.length < 2 ? loneSampleMarginSeconds : 0;
  const margin = kind === 'bars' ? halfDaySeconds : lineMargin;
  return { min: (seconds[0] ?? 0) - margin, max: (seconds.at(-1) ?? 0) + margin };
}

/**
 * The range of the time axis when uPlot requests one. A reset requests the range of the samples; if there is only one sample,
 * uPlot requests 1 000 days from it.
 */
export function axisRange(
  { low, high }: { readonly low: number | null; readonly high: number | null },
  { seconds, whole }: { readonly seconds: readonly number[]; readonly whole: TimeRange },
): [min: number, max: number] {
  const isReset = low === seconds[0] && (seconds.length < 2 || high === seconds.at(-1));
  return isReset ? [whole.min, whole.max] : [low ?? whole.min, high ?? whole.max];
}

/** The shortest range that a zoom shows. One sample cannot be enlarged. */
export function leastZoom(seconds: readonly number[]): number {
  return seconds.length < 2 ? Infinity : sampleInterval(seconds) * 2;
}
