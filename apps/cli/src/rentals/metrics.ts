import type { Output } from '../sdk.ts';
import { sparkline } from '../text/sparkline.ts';
import { metricText, ratio } from '@millrace/sdk/text';

/** Formats metrics as a table: last value, mean, maximum and sparkline of each series. Pure. */

export type Series = Output<'getRentalMetrics'>['series'][number];

export interface MetricSummary {
  readonly name: string;
  readonly device: string | null;
  readonly last: string;
  readonly mean: string;
  readonly most: string;
  readonly course: string;
}

export function summariseSeries({ name, device, unit, points }: Series): MetricSummary {
  const values = points.map(({ value }) => value);
  const known = values.filter((value) => value !== null);
  const most = known.reduce((highest, value) => Math.max(highest, value), 0);
  const sum = known.reduce((total, value) => total + value, 0);
  const last = known.at(-1);
  return {
    name,
    device,
    last: last === undefined ? '' : metricText(last, unit),
    mean: known.length === 0 ? '' : metricText(ratio(sum, known.length), unit),
    most: known.length === 0 ? '' : metricText(most, unit),
    // Percentages are scaled to 100, other series to their maximum.
    course: sparkline(values, unit === 'percent' ? 100 : most),
  };
}
