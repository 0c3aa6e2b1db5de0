import type { Series } from './types.ts';

type Samples = Pick<{ seconds: readonly number[]; series: readonly Series[] }, 'seconds' | 'series'>;

/** A pause longer than this many usual intervals is a gap. */
const GAP_INTERVALS = 2.5;

/** The usual time between two samples: the median, which single gaps do not change. */
export function sampleInterval(seconds: readonly number[]): number {
  const pauses = seconds.slice(1).map((second, index) => second - (seconds[index] ?? second));
  return pauses.toSorted((one, other) => one - other)[pauses.length >> 1] ?? 0;
}

/** Adds an empty sample to each pause without samples, so that no line is drawn across it. */
export function breakAtGaps({ seconds, series }: Samples): Samples {
  const interval = sampleInterval(seconds);
  const isGap = (index: number): boolean =>
    index > 0 && (seconds[index] ?? 0) - (seconds[index - 1] ?? 0) > interval * GAP_INTERVALS;
  if (!seconds.some((_, index) => isGap(index))) return { seconds, series };
  return {
    seconds: seconds.flatMap((second, index) =>
      isGap(index) ? [(seconds[index - 1] ?? 0) + interval, second] : [second],
    ),
    series: series.map(({ label, values }) => ({
      label,
      values: values.flatMap((value, index) => (isGap(index) ? [null, value] : [value])),
    })),
  };
}

/** Indices of values without a neighbour, which a line alone would not show. */
export function lonePoints(values: ArrayLike<number | null | undefined>): number[] {
  const isThere = (index: number): boolean => typeof values[index] === 'number';
  const lone: number[] = [];
  for (let index = 0; index < values.length; index += 1) {
    if (isThere(index) && !isThere(index - 1) && !isThere(index + 1)) lone.push(index);
  }
  return lone;
}
