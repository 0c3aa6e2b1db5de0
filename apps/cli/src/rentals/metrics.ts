import type { Answer } from '../sdk.ts';
import { sparkline } from '../text/sparkline.ts';
import { share } from '@millrace/sdk/text';

/** What a rental does, as a table: of each series the last value, the mean, the highest, and how it went. Pure. */

export type Series = Answer<'getRentalMetrics'>['series'][number];

export interface Measured {
  readonly name: string;
  readonly device: string | null;
  readonly last: string;
  readonly mean: string;
  readonly most: string;
  readonly course: string;
}

export function measuredOf({ name, device, unit, points }: Series): Measured {
  const values = points.map(({ value }) => value);
  const known = values.filter((value) => value !== null);
  const most = known.reduce((highest, value) => Math.max(highest, value), 0);
  const sum = known.reduce((total, value) => total + value, 0);
  const last = known.at(-1);
  return {
    name,
    device,
    last: last === undefined ? '' : valueText(last, unit),
    mean: known.length === 0 ? '' : valueText(share(sum, known.length), unit),
    most: known.length === 0 ? '' : valueText(most, unit),
    // A percentage is seen against the whole; everything else against its own highest.
    course: sparkline(values, unit === 'percent' ? 100 : most),
  };
}

const byteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

function valueText(value: number, unit: Series['unit']): string {
  switch (unit) {
    case 'percent':
      return `${value.toFixed(1)} %`;
    case 'bytes':
      return bytesText(value);
    case 'bytes_per_second':
      return `${bytesText(value)}/s`;
    case 'watts':
      return `${Math.round(value)} W`;
    case 'celsius':
      return `${Math.round(value)} °C`;
    case 'count':
      return String(Math.round(value));
  }
}

function bytesText(bytes: number): string {
  let size = bytes;
  let unit = 0;
  while (size >= 1_024 && unit < byteUnits.length - 1) {
    size = share(size, 1_024);
    unit += 1;
  }
  return `${unit === 0 ? Math.round(size) : size.toFixed(1)} ${byteUnits[unit] ?? ''}`;
}

/** How far apart points are so that so many of them fill a line. The API takes 10 seconds to a day. */
export function stepSecondsOf(seconds: number, points: number): number {
  return Math.min(86_400, Math.max(10, Math.ceil(share(seconds, points))));
}
