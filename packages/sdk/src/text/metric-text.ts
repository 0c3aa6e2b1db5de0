import { ratio } from './units.ts';

/** The unit of a metric of a machine. */
export type MetricUnit = 'percent' | 'bytes' | 'bytes_per_second' | 'watts' | 'celsius' | 'count';

const byteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

/** `64.2 %`, `80.0 GiB`, `1.5 KiB/s`. */
export function metricText(value: number, unit: MetricUnit): string {
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
    size = ratio(size, 1_024);
    unit += 1;
  }
  return `${unit === 0 ? Math.round(size) : size.toFixed(1)} ${byteUnits[unit] ?? ''}`;
}

/** The distance between points so that `points` of them fill a line. The API accepts 10 seconds to a day. */
export function stepSecondsOf(seconds: number, points: number): number {
  return Math.min(86_400, Math.max(10, Math.ceil(ratio(seconds, points))));
}
