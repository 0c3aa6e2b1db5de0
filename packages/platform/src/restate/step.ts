import type { Context, RestatePromise } from '@restatedev/restate-sdk';
import { systemClock, withDeadline } from '../clock/index.ts';
import { envelopeFromHeaders, type Envelope } from '../envelope/index.ts';

/** A step always has an end: one that is tried for ever would keep its compensation from ever running. */
export interface StepLimits {
  /** How often to try, the first time included. After that the step fails for good. */
  readonly maxAttempts: number;
  /** The longest one attempt may take; then it is aborted and counts as failed. */
  readonly timeoutMs: number;
  readonly firstRetryMs?: number;
  readonly longestRetryMs?: number;
}

/**
 * Does something to the outside world once, as far as that is possible, and remembers the result. It may run twice
 * when the process dies in the middle, so `act` must be idempotent by itself. Throws a TerminalError in the end.
 */
export function step<T>(
  ctx: Pick<Context, 'run'>,
  name: string,
  limits: StepLimits,
  work: (signal: AbortSignal) => Promise<T>,
): RestatePromise<T> {
  if (!Number.isInteger(limits.maxAttempts) || limits.maxAttempts < 1) {
    throw new RangeError(`Step ${name} needs a whole number of attempts, at least one.`);
  }
  return ctx.run(name, () => withDeadline(systemClock, `Step ${name}`, limits.timeoutMs, work), {
    maxRetryAttempts: limits.maxAttempts,
    initialRetryInterval: limits.firstRetryMs ?? 100,
    maxRetryInterval: limits.longestRetryMs ?? 10_000,
  });
}

/** Who and what this invocation is for, as sent along by the ingress. Null when it was not sent by us. */
export function envelopeOf(ctx: Pick<Context, 'request'>): Envelope | null {
  const { headers } = ctx.request();
  return envelopeFromHeaders((name) => headers.get(name));
}
