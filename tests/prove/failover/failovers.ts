import type { ProofReport, ProofRun } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { eventually, scaledLimitMs, type PatroniCluster } from '@millrace/testing';
import type { RequestResult } from '../gateway-kill/load.ts';
import type { WriterLoad } from './writers.ts';

/** Changes the primary under load, and measures for how long no write succeeded. */

/** `kill`: Patroni and PostgreSQL of the primary are killed with kill -9, and start again once another node is the primary. */
export type FailoverKind = 'switchover' | 'kill';

export interface Failover {
  readonly kind: FailoverKind;
  /** The longest time without a successful write after the fault. */
  readonly unwritableMs: number;
  readonly openStreams: number;
  readonly failures: readonly string[];
}

interface ObservedLoad {
  readonly writers: WriterLoad;
  readonly chats: readonly RequestResult[];
}

/** The ttl of Patroni and the time that a promotion and new connections take. */
const LIMIT_MS = 45_000;
/** The measurement ends after this many writes on the new primary. */
const WRITES_AFTER = 10;

export async function failOver(
  run: ProofRun,
  cluster: PatroniCluster,
  kind: FailoverKind,
  { writers, chats }: ObservedLoad,
): Promise<Failover> {
  await cluster.whenHealthy();
  const before = await cluster.primary();
  const startedMs = systemClock.monotonicMs();
  const openStreams = chats.filter(({ endedMs, hasReceivedData }) => endedMs === 0 && hasReceivedData).length;
  await (kind === 'switchover' ? cluster.switchover() : before.kill());
  await eventually({ what: 'another primary', timeoutMs: 300_000, intervalMs: 100 }, async () => {
    return (await cluster.primary()) !== before;
  });
  const known = writers.acknowledged.length;
  const isOver = (): boolean => writers.failures.length > 0;
  await eventually({ what: 'writes on the new primary', timeoutMs: 300_000, intervalMs: 50 }, () => {
    return isOver() || writers.acknowledged.length >= known + WRITES_AFTER;
  });
  const unwritableMs = longestGapMs(writers, startedMs);
  if (kind === 'kill') await before.start();
  run.note(`${kind} of ${before.name}: writable again after ${Math.round(unwritableMs)} ms`);
  const isLate = unwritableMs > scaledLimitMs(LIMIT_MS);
  const failures = isLate ? [`after a ${kind}, no write succeeded for ${Math.round(unwritableMs)} ms`] : [];
  return { kind, unwritableMs, openStreams, failures };
}

function longestGapMs({ acknowledged }: WriterLoad, fromMs: number): number {
  let [longest, previous] = [0, fromMs];
  for (const { endedMs } of acknowledged) {
    if (endedMs < fromMs) continue;
    longest = Math.max(longest, endedMs - previous);
    previous = endedMs;
  }
  return longest;
}

export function figuresOf(
  failovers: readonly Failover[],
  { writers, chats }: ObservedLoad,
): ProofReport['figures'] {
  const { counts, acknowledged } = writers;
  const count = (outcome: RequestResult['outcome']): number =>
    chats.filter((one) => one.outcome === outcome).length;
  return {
    "Patroni's ttl": '20 s',
    ...timesOf(failovers, 'switchover', 'switchovers'),
    ...timesOf(failovers, 'kill', 'kill -9 of the primary node'),
    'changes acknowledged': acknowledged.length,
    'responses 503 with Retry-After': counts.refused,
    'requests without a response': counts.unanswered,
    'changes with an unknown result, found committed by their idempotency key': counts.settledAsCommitted,
    'changes with an unknown result, executed by the repetition': counts.settledByRepetition,
    'streams open at a fault': failovers.reduce((sum, { openStreams }) => sum + openStreams, 0),
    'chats answered completely': count('whole'),
    'chats refused with 503': count('refused'),
    'chats cancelled by the client': count('left'),
    'streams cut': count('broken') + count('errored'),
  };
}

function timesOf(failovers: readonly Failover[], kind: FailoverKind, title: string): ProofReport['figures'] {
  const times = failovers
    .filter((each) => each.kind === kind)
    .map(({ unwritableMs }) => unwritableMs)
    .toSorted((one, other) => one - other);
  const at = (share: number): string =>
    `${((times[Math.ceil(times.length * share) - 1] ?? 0) * 0.001).toFixed(1)} s`;
  const none = 'longest time without a successful write';
  return {
    [title]: times.length,
    [`${title}: ${none}, p50`]: at(0.5),
    [`${title}: ${none}, p95`]: at(0.95),
    [`${title}: ${none}, worst`]: at(1),
  };
}
