/** How the client learns the time and waits. A test hands in one that it moves by hand. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  nowMs(): number;
  /** Resolves after `ms` milliseconds, or rejects with the signal's reason once it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Runs `action` after `ms` milliseconds unless the returned function is called first. */
  after(ms: number, action: () => void): () => void;
}

/** Longer waits than that, Infinity among them, would end at once. */
const maxTimerMs = 2 ** 31 - 1;

function after(ms: number, action: () => void): () => void {
  const timer = setTimeout(action, Math.min(ms, maxTimerMs));
  return () => clearTimeout(timer);
}

/** The machine's own clock. */
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
