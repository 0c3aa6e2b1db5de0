/** The one place of the console that asks what time it is, and that waits. */
export function nowMs(): number {
  return Date.now();
}

/** For how long something took: never set back, and finer than a millisecond. */
export function monotonicMs(): number {
  return performance.now();
}

/** Resolves after `ms` milliseconds, or rejects with the signal's reason once it aborts. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason instanceof Error ? signal.reason : new Error('Given up.'));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
