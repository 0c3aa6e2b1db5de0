import { relativeText } from '@millrace/sdk/text';
import { useEffect, useState } from 'react';
import { nowMs } from '../api/clock.ts';
import { dateFormat } from './logic/date-format.ts';

const shortText = dateFormat({ dateStyle: 'medium', timeStyle: 'long' });
const fullText = dateFormat({ dateStyle: 'full', timeStyle: 'long' });

export function useNow(everyMs: number): number {
  const [now, setNow] = useState(nowMs);
  useEffect(() => {
    const timer = setInterval(() => setNow(nowMs()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

/** Local date and time with its time zone; the tooltip also has the weekday. */
export function Timestamp({ at }: Readonly<{ at: string }>) {
  const instant = new Date(at);
  return (
    <time dateTime={at} title={fullText(instant)} className="tabular-nums">
      {shortText(instant)}
    </time>
  );
}

const TICK_MS = 5_000;
const listeners = new Set<() => void>();
let ticking: ReturnType<typeof setInterval> | undefined;

/** One timer for all times on the page, which may be hundreds. */
function onTick(listener: () => void): () => void {
  listeners.add(listener);
  ticking ??= setInterval(() => {
    for (const each of listeners) each();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(ticking);
    ticking = undefined;
  };
}

/** Relative time; the tooltip shows the timestamp. */
export function RelativeTime({ at }: Readonly<{ at: string }>) {
  const [now, setNow] = useState(nowMs);
  const text = relativeText(at, now);
  // Renders only when the text changes.
  useEffect(
    () =>
      onTick(() => setNow((old) => (relativeText(at, nowMs()) === relativeText(at, old) ? old : nowMs()))),
    [at],
  );
  return (
    <time dateTime={at} title={fullText(new Date(at))} className="whitespace-nowrap tabular-nums">
      {text}
    </time>
  );
}
