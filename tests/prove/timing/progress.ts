import { systemClock } from '@millrace/platform/clock';
import { scaledLimitMs } from '@millrace/testing';

export interface ProgressOptions {
  /** Stops waiting after this long without a change. A slower machine gets more time. */
  readonly stuckAfterMs: number;
  readonly intervalMs?: number;
}

/**
 * Waits as long as there is progress. `look` returns null when everything is done, otherwise a description of the remaining
 * work; an exception is not progress. Returns the time waited, or null if the work is stuck.
 */
export async function waitWhileProgress(
  { stuckAfterMs, intervalMs = 100 }: ProgressOptions,
  look: () => Promise<string | null>,
): Promise<number | null> {
  const startedMs = systemClock.monotonicMs();
  const limitMs = scaledLimitMs(stuckAfterMs);
  let before: string | null = '';
  let changedMs = startedMs;
  for (;;) {
    const left = await look().catch(() => before);
    const nowMs = systemClock.monotonicMs();
    if (left === null) return nowMs - startedMs;
    if (left !== before) [before, changedMs] = [left, nowMs];
    else if (nowMs - changedMs >= limitMs) return null;
    await systemClock.sleep(intervalMs);
  }
}
