import type { MachineMetrics } from '@millrace/compute';
import { perSecond, secondsToMs, divideWithRemainder } from '@millrace/platform/money';
import type { IdleRule } from '../model/rental.ts';

/** What machines measure, and since when they idle. Pure. */

export interface MonitoringPolicy {
  /** How often each machine is asked. */
  readonly everyMs: number;
  /** How long one machine, and all machines of a cluster in one round, may take to answer. */
  readonly callTimeoutMs: number;
  readonly roundTimeoutMs: number;
  /** How many machines of one cluster are asked at once. */
  readonly atOnce: number;
  /** Two samples further apart say nothing of the time between them. */
  readonly longestGapMs: number;
  readonly idle: IdleThresholds;
}

/** A machine idles while it is below all of these. The processor counts in whole cores, not as a share of all of them. */
export interface IdleThresholds {
  readonly cpuCores: number;
  /** In and out together. */
  readonly networkBytesPerSecond: number;
  /** The busiest GPU. A GPU whose use is not reported counts as busy. */
  readonly gpuPercent: number;
}

export const defaultMonitoring: MonitoringPolicy = {
  everyMs: 30_000,
  callTimeoutMs: 5_000,
  roundTimeoutMs: 20_000,
  atOnce: 16,
  longestGapMs: 120_000,
  idle: { cpuCores: 0.1, networkBytesPerSecond: 10_000, gpuPercent: 5 },
};

/** A machine at one moment. Null: not measured. */
export interface Sample extends MachineMetrics {
  readonly attempt: number;
  readonly position: number;
}

/** What the next sample is compared with. */
export interface SampleCounters {
  readonly attempt: number;
  readonly position: number;
  readonly atMs: number;
  readonly cpuSeconds: number | null;
  readonly networkBytes: number | null;
}

export interface Idleness {
  readonly sampledAt: Date;
  /** When it was last seen busy, or when watching began anew. */
  readonly idleSince: Date;
  readonly counters: readonly SampleCounters[];
}

/**
 * What is known of a rental's idleness after one more sample of each of its machines. Whatever cannot be told counts as
 * busy: the first sample, a gap, a machine that was switched on anew, an engine that does not measure.
 */
export function updateIdleness(
  before: Idleness | null,
  samples: readonly Sample[],
  policy: Pick<MonitoringPolicy, 'idle' | 'longestGapMs'>,
): Idleness {
  const atMs = Math.max(...samples.map(({ at }) => at.getTime()));
  const sampledAt = new Date(atMs);
  const counters = samples.map(countersOf);
  const isIdle =
    before !== null &&
    samples.every((sample, index) => {
      const now = counters[index];
      const then = before.counters.find(
        ({ attempt, position }) => attempt === sample.attempt && position === sample.position,
      );
      return now !== undefined && then !== undefined && isIdleBetween(then, now, sample, policy);
    });
  return { sampledAt, idleSince: isIdle ? before.idleSince : sampledAt, counters };
}

function countersOf({
  attempt,
  position,
  at,
  cpuSeconds,
  networkInBytes,
  networkOutBytes,
}: Sample): SampleCounters {
  const isCounted = networkInBytes !== null && networkOutBytes !== null;
  return {
    attempt,
    position,
    atMs: at.getTime(),
    cpuSeconds,
    networkBytes: isCounted ? networkInBytes + networkOutBytes : null,
  };
}

function isIdleBetween(
  then: SampleCounters,
  now: SampleCounters,
  { gpus }: Sample,
  { idle, longestGapMs }: Pick<MonitoringPolicy, 'idle' | 'longestGapMs'>,
): boolean {
  const passedMs = now.atMs - then.atMs;
  if (passedMs <= 0 || passedMs > longestGapMs) return false;
  const cores = counterRate(then.cpuSeconds, now.cpuSeconds, passedMs);
  const network = counterRate(then.networkBytes, now.networkBytes, passedMs);
  if (cores === null || network === null) return false;
  // Work may run on a GPU alone, so a GPU that reports nothing may be busy.
  if (gpus === null) return false;
  const isEveryGpuIdle = gpus.every(
    ({ utilisationPercent: percent }) => percent !== null && percent < idle.gpuPercent,
  );
  return cores < idle.cpuCores && network < idle.networkBytesPerSecond && isEveryGpuIdle;
}

/** What a counter gained each second. Null where one of the two is missing, or it began anew. */
function counterRate(then: number | null, now: number | null, passedMs: number): number | null {
  if (then === null || now === null || now < then) return null;
  return perSecond(now - then, passedMs);
}

/** Whether the rule is to be carried out by what was seen last. */
export function isIdleLongEnough({ sampledAt, idleSince }: Idleness, rule: IdleRule): boolean {
  return sampledAt.getTime() - idleSince.getTime() >= secondsToMs(rule.afterSeconds);
}

/** So many days before today are kept. */
export const SAMPLE_DAYS = 7;
/** The days of the ring: those, today, and the next one, which is emptied before it begins. */
export const SAMPLE_PARTITIONS = SAMPLE_DAYS + 2;
const DAY_MS = 86_400_000;

/** Which part of the ring a moment lies in. */
export function samplePartitionOf(at: Date): number {
  return dayOf(at) % SAMPLE_PARTITIONS;
}

/** The parts of the ring that hold what is left of a period. */
export function samplePartitionsOf(from: Date, until: Date, now: Date): readonly number[] {
  const first = Math.max(dayOf(from), dayOf(now) - SAMPLE_DAYS);
  const last = Math.min(dayOf(until), dayOf(now) + 1);
  return Array.from(
    { length: Math.max(0, last - first + 1) },
    (_, index) => (first + index) % SAMPLE_PARTITIONS,
  );
}

/** Samples from before this are forgotten. */
export function samplesExpireBefore(now: Date): Date {
  return new Date((dayOf(now) - SAMPLE_DAYS) * DAY_MS);
}

function dayOf(at: Date): number {
  return divideWithRemainder(at.getTime(), DAY_MS)[0];
}
