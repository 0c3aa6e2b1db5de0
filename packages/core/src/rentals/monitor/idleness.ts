import type { MachineMetrics } from '@millrace/compute';
import { perSecond, secondsToMs, divideWithRemainder } from '@millrace/platform/money';
import type { IdleRule } from '../model/rental.ts';

/** Computes since when a rental is idle, and which partitions store its samples. Pure. */

export interface MonitoringPolicy {
  /** Interval between samples of a machine. */
  readonly everyMs: number;
  /** Timeouts for one machine and for all machines of a cluster in one round. */
  readonly callTimeoutMs: number;
  readonly roundTimeoutMs: number;
  /** Concurrent calls per cluster. */
  readonly atOnce: number;
  /** Samples further apart say nothing about the time between them. */
  readonly longestGapMs: number;
  readonly idle: IdleThresholds;
}

/** A machine is idle while it is below all thresholds. CPU is counted in cores, not as a share of all cores. */
export interface IdleThresholds {
  readonly cpuCores: number;
  /** Received and sent together. */
  readonly networkBytesPerSecond: number;
  /** Applies to the busiest GPU. A GPU without reported utilisation counts as busy. */
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

/** Metrics of a machine at one instant. Null: not measured. */
export interface Sample extends MachineMetrics {
  readonly attempt: number;
  readonly position: number;
}

/** The values with which the next sample is compared. */
export interface SampleCounters {
  readonly attempt: number;
  readonly position: number;
  readonly atMs: number;
  readonly cpuSeconds: number | null;
  readonly networkBytes: number | null;
}

export interface Idleness {
  readonly sampledAt: Date;
  /** When the rental was last busy, or when observation restarted. */
  readonly idleSince: Date;
  readonly counters: readonly SampleCounters[];
}

/** Everything uncertain counts as busy: the first sample, a gap, a restarted machine, a missing measurement. */
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
  // Work can run on a GPU alone, so a GPU without a report may be busy.
  if (gpus === null) return false;
  const isEveryGpuIdle = gpus.every(
    ({ utilisationPercent: percent }) => percent !== null && percent < idle.gpuPercent,
  );
  return cores < idle.cpuCores && network < idle.networkBytesPerSecond && isEveryGpuIdle;
}

/** Increase of a counter per second. Null if a value is missing or the counter was reset. */
function counterRate(then: number | null, now: number | null, passedMs: number): number | null {
  if (then === null || now === null || now < then) return null;
  return perSecond(now - then, passedMs);
}

export function isIdleLongEnough({ sampledAt, idleSince }: Idleness, rule: IdleRule): boolean {
  return sampledAt.getTime() - idleSince.getTime() >= secondsToMs(rule.afterSeconds);
}

/** Days before today whose samples are retained. */
export const SAMPLE_DAYS = 7;
/** The retained days, today, and tomorrow, whose partition is emptied before the day starts. */
export const SAMPLE_PARTITIONS = SAMPLE_DAYS + 2;
const DAY_MS = 86_400_000;

export function samplePartitionOf(at: Date): number {
  return dayOf(at) % SAMPLE_PARTITIONS;
}

/** Partitions with the retained part of a period. */
export function samplePartitionsOf(from: Date, until: Date, now: Date): readonly number[] {
  const first = Math.max(dayOf(from), dayOf(now) - SAMPLE_DAYS);
  const last = Math.min(dayOf(until), dayOf(now) + 1);
  return Array.from(
    { length: Math.max(0, last - first + 1) },
    (_, index) => (first + index) % SAMPLE_PARTITIONS,
  );
}

export function samplesExpireBefore(now: Date): Date {
  return new Date((dayOf(now) - SAMPLE_DAYS) * DAY_MS);
}

function dayOf(at: Date): number {
  return divideWithRemainder(at.getTime(), DAY_MS)[0];
}
