import type { ChartProps } from './types.ts';

const daySeconds = 86_400;

/** Texts of points and ticks. Bars are UTC days; samples have local times. */
export function timeTexts(kind: ChartProps['kind'], locale?: string, timeZone?: string) {
  const zone = kind === 'bars' ? 'UTC' : timeZone;
  const format = (options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat =>
    new Intl.DateTimeFormat(locale, { ...options, ...(zone !== undefined && { timeZone: zone }) });
  const point =
    kind === 'bars' ? format({ dateStyle: 'medium' }) : format({ dateStyle: 'medium', timeStyle: 'short' });
  const clock = format({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  const seconds = format({ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
  const day = format({ day: 'numeric', month: 'short' });
  return {
    point: (second: number): string => point.format(second * 1000),
    /** Time of day; the date at midnight, and if ticks are a day or more apart. */
    tick: (second: number, stepSeconds: number): string => {
      if (stepSeconds < 60) return seconds.format(second * 1000);
      const time = clock.format(second * 1000);
      return stepSeconds >= daySeconds || time === '00:00' ? day.format(second * 1000) : time;
    },
  };
}
