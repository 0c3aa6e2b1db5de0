import { errorLines, type SupervisedProcess } from '../../stack/supervised-process.ts';
import { isNearStall, type Stall } from '../stalls.ts';
import type { RequestResult } from '../gateway-kill/load.ts';
import type { InjectedFault } from '../gateway-kill/faults.ts';
import type { Interruption } from '../failover/writers.ts';
import type { Kill } from './releases.ts';

/** Requests whose connection was already made when the process died, with the time that the proxy takes to notice. */
const AFTER_KILL_MS = 500;
/** Requests that waited during a stall of the machine may be refused for this long after it. */
const AFTER_STALL_MS = 2_000;

/** HAProxy's own responses for a request whose server died. */
export const lostStatuses: readonly number[] = [502];

/** Interruptions of idempotent requests that no kill of an api explains. */
export function unexplainedInterruptions(
  interruptions: readonly Interruption[],
  { kills, stalls }: { readonly kills: readonly Kill[]; readonly stalls: readonly Stall[] },
): readonly string[] {
  const struck = kills.filter(({ role }) => role === 'api');
  return interruptions.flatMap((each) => {
    const isInFlight = struck.some(
      ({ struckMs }) => each.startedMs <= struckMs + AFTER_KILL_MS && each.endedMs >= struckMs,
    );
    const isStalled = each.status === 503 && isNearStall(stalls, each, AFTER_STALL_MS);
    return isInFlight || isStalled
      ? []
      : [`a ${each.kind} got ${each.status ?? 'no response'} without a kill: ${each.why}`];
  });
}

/** As faults of `gateway-kill`: only requests that were in flight at the killed gateway may break. */
export function faultsOf(kills: readonly Kill[]): readonly InjectedFault[] {
  return kills.flatMap(({ role, struckMs }) =>
    role === 'gateway' ? [{ target: 'gateway' as const, struckMs, backMs: struckMs }] : [],
  );
}

/**
 * A response without the id of a gateway is one of the proxy: no gateway answered. On a slow machine, the first credit of an
 * organisation is granted after its first requests, which do not count.
 */
export function comparableResults(results: readonly RequestResult[]): readonly RequestResult[] {
  const firstMs = Math.min(
    ...results.flatMap(({ outcome, endedMs }) => (outcome === 'whole' ? [endedMs] : [])),
  );
  return results
    .filter(({ status, endedMs }) => status !== 503 || endedMs > firstMs)
    .map((one) => (one.outcome === 'refused' && one.id === null ? { ...one, outcome: 'broken' } : one));
}

/** The errors in the logs, but not about times that a busy machine does not keep. */
export const unexpectedErrors = (processes: readonly SupervisedProcess[]): readonly string[] =>
  processes.flatMap(errorLines).filter((line) => !line.includes('later than promised'));
