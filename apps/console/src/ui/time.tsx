import { relativeText } from '@millrace/sdk/text';
import { useEffect, useState } from 'react';
import { nowMs } from '../api/clock.ts';

const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const zoned = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });

export function useNow(everyMs: number): number {
  const [now, setNow] = useState(nowMs);
  useEffect(() => {
    const timer = setInterval(() => setNow(nowMs()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

/** Local date and time; the tooltip names the time zone. */
export function Timestamp({ at }: Readonly<{ at: string }>) {
  const instant = new Date(at);
  return (
    <time dateTime={at} title={zoned.format(instant)} className="tabular-nums">
      {whole.format(instant)}
    </time>
  );
}

/** Relative time; the tooltip shows the timestamp. */
export function RelativeTime({ at }: Readonly<{ at: string }>) {
  const now = useNow(5_000);
  return (
    <time dateTime={at} title={zoned.format(new Date(at))} className="whitespace-nowrap tabular-nums">
      {relativeText(at, now)}
    </time>
  );
}
