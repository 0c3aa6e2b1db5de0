import { performance } from 'node:perf_hooks';
import type { Clock } from './clock.ts';

// A Node timer holds at most 2^31-1 ms and fires at once beyond it, so a longer wait is made of several.
const longestTimerMs = 2_147_483_647;

function waitOnce(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** The machine's own clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  async sleep(ms, signal) {
    signal?.throwIfAborted();
    let leftMs = Math.max(0, ms);
    do {
      const stepMs = Math.min(leftMs, longestTimerMs);
      await waitOnce(stepMs, signal);
      leftMs -= stepMs;
    } while (leftMs > 0);
  },
};
