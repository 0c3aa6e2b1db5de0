import type { ScaleBase } from './scale.ts';

export interface Series {
  readonly label: string;
  /** One value per entry of `seconds`; null for a gap. */
  readonly values: readonly (number | null)[];
}

/** Unix times in seconds. */
export interface TimeRange {
  readonly min: number;
  readonly max: number;
}

export interface ChartProps {
  /** Caption, also for screen readers. */
  readonly label: string;
  /** Lines for samples in local time, or one bar per UTC day. */
  readonly kind?: 'line' | 'bars';
  /** Unix times in seconds, ascending. */
  readonly seconds: readonly number[];
  readonly series: readonly Series[];
  /** Text with the unit, such as `64.0 GiB`. */
  readonly format: (value: number) => string;
  /** Scale of the grid lines; decimal by default. */
  readonly base?: ScaleBase;
  readonly height?: number;
}

export const DEFAULT_HEIGHT = 200;
