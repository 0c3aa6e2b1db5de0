/** The clock of the client. Tests pass one that they control. */
export interface Clock {
  nowMs(): number;
  /** Resolves after `ms` milliseconds, or rejects with the reason of the signal when it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Runs `action` after `ms` milliseconds unless the returned function is called first. */
  after(ms: number, action: () => void): () => void;
}

/** Timers with a longer delay, such as Infinity, would fire immediately. */
const maxTimerMs = 2 ** 31 - 1;

function after(ms: number, action: () => void): () => void {
  const timer = setTimeout(action, Math.min(ms, maxTimerMs));
  return () => clearTimeout(timer);
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  after,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
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
