import type { Clock } from '@millrace/platform/clock';
import { isDriverError } from '../driver-error.ts';
import { IronicError } from './ironic-errors.ts';
import { abortedError } from './ironic-pool.ts';

/** Whatever it is, it does not take longer in one call; who wants more asks again. */
const maxMs = 30 * 60_000;
const firstPauseMs = 100;

export const pollAgain = Symbol('look again');

/**
 * Turn after turn until one has an outcome. Each looks first and then does the one thing that is next, so it may find that
 * others have done it. A node that is locked, or between two states, has its turn again: Ironic says nothing of how long,
 * and lets nobody wait in line.
 */
export async function pollUntilDone<T>(
  options: { readonly clock: Clock; readonly pollMs: number; readonly what: string },
  signal: AbortSignal,
  turn: () => Promise<T | typeof pollAgain>,
): Promise<T> {
  const { clock, pollMs, what } = options;
  const startedMs = clock.monotonicMs();
  let busy: unknown;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pollMs, pauseMs * 2)) {
    try {
      const outcome = await turn();
      if (outcome !== pollAgain) return outcome;
    } catch (error) {
      if (!isDriverError(error, 'busy')) throw error;
      busy = error;
    }
    if (clock.monotonicMs() - startedMs > maxMs) {
      throw new IronicError('busy', `Ironic still had not come to ${what} after ${maxMs} ms.`, {
        cause: busy,
      });
    }
    try {
      await clock.sleep(Math.min(pauseMs, pollMs), signal);
    } catch {
      throw abortedError(signal, what);
    }
  }
}
