import type { Clock } from './clock.ts';

/** Thrown when something was not done in the time it was given. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
  constructor(what: string, timeoutMs: number) {
    super(`${what} took longer than ${timeoutMs} ms.`);
  }
}

/**
 * Gives `work` at most `timeoutMs`. When the time is up the result is a `DeadlineError` and the signal aborts, so
 * that work which can stop does. Work that cannot stop goes on unobserved: use this on calls that may be repeated.
 */
export async function withDeadline<T>(
  clock: Clock,
  what: string,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const done = new AbortController();
  const expiry = clock.sleep(timeoutMs, done.signal).then(
    () => {
      const error = new DeadlineError(what, timeoutMs);
      late.abort(error);
      throw error;
    },
    // Finished in time: the race below has been decided already, and nobody looks at this promise any more.
    () => new Promise<never>(() => undefined),
  );
  try {
    return await Promise.race([work(late.signal), expiry]);
  } finally {
    done.abort();
  }
}
