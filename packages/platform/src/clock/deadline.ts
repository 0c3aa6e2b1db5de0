import type { Timer } from './clock.ts';

export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
  constructor(what: string, timeoutMs: number) {
    super(`${what} took longer than ${timeoutMs} ms.`);
  }
}

/** Rejects after `timeoutMs` and aborts the signal. The work may continue, so it must be safe to repeat. */
export function withDeadline<T>(
  clock: Timer,
  what: string,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  // Promise.race would need an abortable sleep, which costs ten times a cleared timer; this wraps every Valkey command.
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
