import { systemClock } from '@millrace/platform/clock';

export interface EventuallyOptions {
  /** The expected event, for the error message. */
  readonly what: string;
  /** For waits that may take longer than two minutes on a slow machine. Shorter limits are ignored. */
  readonly timeoutMs?: number;
  readonly intervalMs?: number;
}

const notYet = Symbol('not yet');

/** Ends a wait that hangs. It does not measure speed: a test of a promised time measures it itself. */
const HANG_MS = 120_000;

/**
 * Waits for an engine or process outside the test to reach a state, by polling. For code that takes a clock, inject a
 * simulated one and advance it instead. The condition is met when `probe` returns anything except undefined or false;
 * an exception counts as "not yet".
 */
export async function eventually<T>(
  options: EventuallyOptions,
  probe: () => Promise<T> | T,
): Promise<Exclude<T, undefined | false>> {
  const timeoutMs = Math.max(HANG_MS, options.timeoutMs ?? 0);
  const deadlineMs = systemClock.monotonicMs() + timeoutMs;
  let lastError: unknown;
  for (;;) {
    const outcome = await attempt(probe, (error) => {
      lastError = error;
    });
    if (outcome !== notYet) return outcome as Exclude<T, undefined | false>;
    if (systemClock.monotonicMs() >= deadlineMs) {
      throw new Error(`Timed out after ${timeoutMs} ms waiting for: ${options.what}`, { cause: lastError });
    }
    await systemClock.sleep(options.intervalMs ?? 20);
  }
}

async function attempt<T>(
  probe: () => Promise<T> | T,
  onError: (error: unknown) => void,
): Promise<T | typeof notYet> {
  try {
    const value = await probe();
    return value === undefined || value === false ? notYet : value;
  } catch (error) {
    onError(error);
    return notYet;
  }
}
