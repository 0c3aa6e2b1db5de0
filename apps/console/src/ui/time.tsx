import { relativeText } from '@millrace/sdk/text';
import { useEffect, useState } from 'react';
import { nowMs } from '../api/clock.ts';

const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const zoned = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });

/** The present, again every so often. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(nowMs);
  useEffect(() => {
    const timer = setInterval(() => setNow(nowMs()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

/** A moment in the reader's own zone; pointing at it names the zone. */
export function Timestamp({ at }: Readonly<{ at: string }>) {
  const instant = new Date(at);
  return (
    <time dateTime={at} title={zoned.format(instant)}>
      {whole.format(instant)}
    </time>
  );
}

/** How long ago, or in how long; pointing at it tells the moment. */
export function RelativeTime({ at }: Readonly<{ at: string }>) {
  const now = useNow(5_000);
  return (
    <time dateTime={at} title={zoned.format(new Date(at))} className="whitespace-nowrap">
      {relativeText(at, now)}
    </time>
  );
}
