import type { Timer } from './clock.ts';

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
export function withDeadline<T>(
  clock: Timer,
  what: string,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  // By hand rather than with Promise.race: this stands around every command to Valkey, and a timer that is cleared
  // costs a tenth of an aborted sleep.
  return new Promise<T>((resolve, reject) => {
    const cancel = clock.after(timeoutMs, () => {
      const error = new DeadlineError(what, timeoutMs);
      reject(error);
      late.abort(error);
    });
    const fail = (error: unknown): void => {
      cancel();
      reject(error);
    };
    try {
      work(late.signal).then((value) => {
        cancel();
        resolve(value);
      }, fail);
    } catch (error) {
      fail(error);
    }
  });
}
