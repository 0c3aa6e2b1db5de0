import type { Context, RestatePromise } from '@restatedev/restate-sdk';
import { systemClock, withDeadline } from '../clock/index.ts';
import { envelopeFromHeaders, type Envelope } from '../envelope/index.ts';
import { contextFromTraceparent, inSpan } from '../telemetry/index.ts';

/** Limits of a step. They are required, because endless retries would prevent compensation. */
export interface StepLimits {
  /** The maximum of attempts, including the first. After that the step fails permanently. */
  readonly maxAttempts: number;
  /** The maximum duration of one attempt, which is then aborted and counts as failed. */
  readonly timeoutMs: number;
  readonly firstRetryMs?: number;
  readonly longestRetryMs?: number;
}

/**
 * Stores the result of an external effect. It runs twice if the process dies meanwhile, so `work` must be idempotent. Throws
 * a TerminalError after the last attempt.
 */
export function step<T>(
  ctx: Pick<Context, 'run' | 'request'>,
  name: string,
  limits: StepLimits,
  work: (signal: AbortSignal) => Promise<T>,
): RestatePromise<T> {
  if (!Number.isInteger(limits.maxAttempts) || limits.maxAttempts < 1) {
    throw new RangeError(`Step ${name} needs a whole number of attempts, at least one.`);
  }
  const attempt = (): Promise<T> => withDeadline(systemClock, `Step ${name}`, limits.timeoutMs, work);
  // Only steps have spans: a handler that is suspended never ends in this process, and replays run its code again.
  const options = {
    kind: 'consumer',
    attributes: {
      'messaging.system': 'restate',
      'messaging.operation.type': 'process',
      'millrace.step': name,
    },
    parent: contextFromTraceparent(envelopeOf(ctx)?.traceparent),
  } as const;
  return ctx.run(name, () => inSpan('restate step', options, attempt), {
    maxRetryAttempts: limits.maxAttempts,
    initialRetryInterval: limits.firstRetryMs ?? 100,
    maxRetryInterval: limits.longestRetryMs ?? 10_000,
  });
}

/** Reads cell, mode, actor and trace from the headers of the invocation. Null if Millrace did not send the invocation. */
export function envelopeOf(ctx: Pick<Context, 'request'>): Envelope | null {
  const { headers } = ctx.request();
  return envelopeFromHeaders((name) => headers.get(name));
}
