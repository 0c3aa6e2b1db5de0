import { systemClock } from '@millrace/platform/clock';
import { scaledLimitMs } from '@millrace/testing';

export interface ProgressOptions {
  /** Gives up after this long without a change. A slower machine gets more time. */
  readonly stuckAfterMs: number;
  readonly intervalMs?: number;
}

/**
 * Waits while there is progress. `look` returns null when everything is done, and otherwise describes what is left; the wait
 * continues while that changes. An exception is not progress. Returns how long the wait took, and null if it gave up.
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
