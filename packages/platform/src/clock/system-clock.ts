import { performance } from 'node:perf_hooks';
import type { Clock } from './clock.ts';

// A Node timer accepts at most 2^31-1 ms and fires at once beyond that, so longer waits use several timers.
const maxTimerMs = 2_147_483_647;

function after(ms: number, action: () => void): () => void {
  if (ms <= maxTimerMs) {
    const timer = setTimeout(action, Math.max(0, ms));
    return () => clearTimeout(timer);
  }
  let cancel = after(maxTimerMs, () => {
    cancel = after(ms - maxTimerMs, action);
  });
  return () => cancel();
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  after,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = (): void => {
        cancel();
        reject(signal?.reason);
      };
      const cancel = after(ms, () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      });
      signal?.addEventListener('abort', onAbort, { once: true });
    }),
};
