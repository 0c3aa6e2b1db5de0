import { Fault } from '@millrace/platform/fault';
import { msToSecondsRoundUp } from '@millrace/platform/money';
import type { EngineFailure } from '../../adapters/text/text-adapter.ts';
import type { NoRoute, UpstreamOutcome } from '../../routing/index.ts';

/** Maps engine failures to outcomes of upstream calls, and missing routes to faults. */

export function upstreamOutcomeOf(failure: EngineFailure): UpstreamOutcome {
  if (failure.reason === 'MODEL_OVERLOADED') return 'overloaded';
  // An engine that refuses an invalid request works correctly.
  return failure.retryable ? 'failed' : 'ok';
}

export function noRouteFault({ outcome, retryAfterMs }: NoRoute): Fault {
  return new Fault(outcome === 'full' ? 'MODEL_OVERLOADED' : 'MODEL_NOT_AVAILABLE', {
    retryAfterSeconds: msToSecondsRoundUp(retryAfterMs),
  });
}
