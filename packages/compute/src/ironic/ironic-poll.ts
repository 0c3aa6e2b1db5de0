import type { Clock } from '@millrace/platform/clock';
import { isDriverError } from '../driver-error.ts';
import { IronicError } from './ironic-errors.ts';
import { abortedError } from './ironic-pool.ts';

/** Limit of one call; the caller repeats it to wait longer. */
const maxMs = 30 * 60_000;
const firstPauseMs = 100;

export const pollAgain = Symbol('look again');

/**
 * Repeats `turn` until it returns a result. Each turn reads the state and then does the next step, which other processes may have
 * done. A node that is locked or in transition is polled, because Ironic offers no queue to wait in.
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
      throw new IronicError('busy', `Ironic did not complete "${what}" within ${maxMs} ms.`, {
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
