import { systemClock } from '@millrace/platform/clock';
import { retryWhile } from '../conformance/index.ts';
import { isDriverError } from '../driver-error.ts';
import { IncusError } from './api/incus-errors.ts';

// On a host that stalls, a daemon fails for reasons that do not depend on the request. Incus aborts a transaction after 30 s;
// members that miss heartbeats lose their event connections until the next one; and after a stall longer than an election the
// database has no leader for some seconds.
const stalled =
  /context deadline exceeded|missing event connection|isn't ready|leader|raft|lost track|no answer within|aborted due to timeout|before secure tls connection|connect timeout|other side closed|econnreset|socket hang up/i;

export function isStallError(error: unknown): boolean {
  return isDriverError(error, 'unavailable') && stalled.test(error.message);
}

/** For calls that tests make without the driver. Each attempt gets its own signal. */
export function retryOnStall<T>(call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return retryWhile(isStallError, () => call(AbortSignal.timeout(120_000)));
}

/** If a repeated attempt finds a duplicate, the response to an earlier attempt was lost. */
export function createWithRetry(make: (signal: AbortSignal) => Promise<void>): Promise<void> {
  let attempt = 0;
  return retryOnStall(async (signal) => {
    attempt += 1;
    await make(signal).catch((error: unknown) => {
      if (attempt === 1 || !(error instanceof IncusError && error.isDuplicate)) throw error;
    });
  });
}

/** Succeeds if there is nothing to remove. */
export function removeWithRetry(remove: (signal: AbortSignal) => Promise<void>): Promise<void> {
  return retryOnStall((signal) =>
    remove(signal).catch((error: unknown) => {
      if (!isDriverError(error, 'not_found')) throw error;
    }),
  );
}

/** Starts to create, and resolves when the engine has a row. If the call ends before that, it starts again. */
export async function waitUntilStarted(
  create: () => Promise<void>,
  count: () => Promise<number>,
): Promise<{ readonly call: Promise<void> }> {
  const before = await count();
  for (;;) {
    let isOver = false;
    const call = create()
      .catch(() => undefined)
      .finally(() => {
        isOver = true;
      });
    for (;;) {
      const wasOver = isOver;
      if ((await count()) !== before) return { call };
      if (wasOver) break;
      await systemClock.sleep(2);
    }
  }
}
