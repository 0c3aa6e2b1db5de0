import type { TimeRange } from './types.ts';

/**
 * Scales a time range around a moment, inside the range of the data. Null if the result is the whole range. The result is
 * never shorter than `least`.
 */
export function zoomAround(
  range: TimeRange,
  factor: number,
  { centre, whole, least }: { readonly centre: number; readonly whole: TimeRange; readonly least: number },
): TimeRange | null {
  const length = Math.max((range.max - range.min) * factor, least);
  if (length >= whole.max - whole.min) return null;
  const min = Math.min(Math.max(centre - length * 0.5, whole.min), whole.max - length);
  return { min, max: min + length };
}

/** Moves a range by a share of its length, inside the range of the data. */
export function panBy(range: TimeRange, share: number, whole: TimeRange): TimeRange {
  const length = range.max - range.min;
  const min = Math.min(Math.max(range.min + length * share, whole.min), whole.max - length);
  return { min, max: min + length };
}

/** Keeps a range after new data arrived; null if it has left the data. */
export function keepZoom(zoom: TimeRange | null, whole: TimeRange): TimeRange | null {
  return zoom !== null && zoom.min >= whole.min && zoom.max <= whole.max ? zoom : null;
}

/** First and last index inside a range. */
export function indicesIn(seconds: readonly number[], { min, max }: TimeRange): readonly [number, number] {
  const first = seconds.findIndex((second) => second >= min);
  const last = seconds.findLastIndex((second) => second <= max);
  return [Math.max(0, first), Math.max(0, last)];
}
