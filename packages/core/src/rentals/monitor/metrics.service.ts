import type { Db } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { Fault } from '@millrace/platform/fault';
import type { OrgId } from '@millrace/platform/ids';
import { floorDivide, secondsToMs, ratio, divideWithRemainder } from '@millrace/platform/money';
import { listMachines } from '../model/machines.store.ts';
import { defaultMonitoring, samplePartitionsOf } from './idleness.ts';
import { findRentalByWireId } from '../model/rentals.store.ts';
import {
  readGpuBuckets,
  readMachineBuckets,
  type GpuMetricBucket,
  type MachineMetricBucket,
  type SeriesQuery,
} from './samples.store.ts';

export interface MetricsRequest {
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly wireId: number;
  readonly from?: Date;
  readonly until?: Date;
  readonly stepSeconds: number;
}

export interface Series {
  readonly name: string;
  readonly unit: 'percent' | 'bytes' | 'bytes_per_second';
  readonly device: string | null;
  readonly points: readonly { readonly at: Date; readonly value: number | null }[];
}

export interface RentalMetrics {
  readonly from: Date;
  readonly until: Date;
  readonly stepSeconds: number;
  readonly series: readonly Series[];
}

const DEFAULT_PERIOD_MS = 3_600_000;
/** Limit over all machines. Each has a point in about 13 series: five of the machine and one per GPU. */
const BUCKETS_MAX = 2_000;

export async function readMetrics(db: Db, request: MetricsRequest, now: Date): Promise<RentalMetrics> {
  const { orgId, mode, wireId, stepSeconds } = request;
  const rental = await findRentalByWireId(db, orgId, mode, wireId);
  if (rental === null) throw new Fault('RENTAL_NOT_FOUND');
  const machines = (await listMachines(db, orgId, rental.id, 'all')).filter(
    ({ attempt }) => attempt === rental.attempt,
  );
  const { from, until } = alignedPeriod(request, now);
  const steps = floorDivide(until.getTime() - from.getTime(), secondsToMs(stepSeconds));
  requireBucketLimit(steps * Math.max(1, machines.length), stepSeconds);
  const query: SeriesQuery = {
    rentalId: rental.id,
    slots: samplePartitionsOf(from, until, now),
    from,
    until,
    stepSeconds,
    longestGapMs: defaultMonitoring.longestGapMs,
  };
  const [ofMachines, ofGpus] = await Promise.all([
    readMachineBuckets(db, orgId, query),
    readGpuBuckets(db, orgId, query),
  ]);
  const grid = { from, stepSeconds, steps, isSingle: machines.length <= 1 };
  return {
    from,
    until,
    stepSeconds,
    series: [
      ...machines.flatMap(({ position, cpuCount }) =>
        machineSeries(
          ofMachines.filter((step) => step.position === position),
          { ...grid, position, cpuCount },
        ),
      ),
      ...gpuSeries(ofGpus, grid),
    ],
  };
}

/** Steps start at multiples of their length, so that a given instant is in the same step for every request. */
function alignedPeriod(
  { from, until, stepSeconds }: Pick<MetricsRequest, 'from' | 'until' | 'stepSeconds'>,
  now: Date,
): { readonly from: Date; readonly until: Date } {
  const stepMs = secondsToMs(stepSeconds);
  const untilMs = Math.min(until?.getTime() ?? now.getTime(), now.getTime());
  const fromMs = from?.getTime() ?? untilMs - DEFAULT_PERIOD_MS;
  if (fromMs >= untilMs) {
    const issue = {
      message: 'must be before until and in the past',
      path: ['from'],
      code: 'invalid_period',
    };
    throw new Fault('VALIDATION_FAILED', { issues: [issue] });
  }
  const [firstStep] = divideWithRemainder(fromMs, stepMs);
  return { from: new Date(firstStep * stepMs), until: new Date(floorDivide(untilMs, stepMs) * stepMs) };
}

function requireBucketLimit(steps: number, stepSeconds: number): void {
  if (steps <= BUCKETS_MAX) return;
  const atLeast = stepSeconds * floorDivide(steps, BUCKETS_MAX);
  const message = `results in ${steps} points, more than the limit of ${BUCKETS_MAX}; use ${atLeast} or more, or a shorter period`;
  throw new Fault('VALIDATION_FAILED', { issues: [{ message, path: ['stepSeconds'], code: 'too_small' }] });
}

interface BucketGrid {
  readonly from: Date;
  readonly stepSeconds: number;
  readonly steps: number;
  /** With one machine the device name needs no node. */
  readonly isSingle: boolean;
}

function pointsOf<Step extends { readonly step: number }>(
  found: readonly Step[],
  { from, stepSeconds, steps }: BucketGrid,
  valueOf: (step: Step) => number | null,
): Series['points'] {
  const byStep = new Map(found.map((each) => [each.step, each]));
  return Array.from({ length: steps }, (_, step) => {
    const each = byStep.get(step);
    return {
      at: new Date(from.getTime() + step * secondsToMs(stepSeconds)),
      value: each === undefined ? null : valueOf(each),
    };
  });
}

function machineSeries(
  found: readonly MachineMetricBucket[],
  grid: BucketGrid & { readonly position: number; readonly cpuCount: number },
): readonly Series[] {
  const device = grid.isSingle ? null : `node-${grid.position}`;
  const { cpuCount } = grid;
  return [
    {
      name: 'cpu.utilisation',
      unit: 'percent',
      device,
      points: pointsOf(found, grid, ({ cpuCores }) =>
        cpuCores === null ? null : Math.min(100, ratio(100 * cpuCores, cpuCount)),
      ),
    },
    { name: 'memory.used', unit: 'bytes', device, points: pointsOf(found, grid, (at) => at.ramUsedBytes) },
    { name: 'disk.used', unit: 'bytes', device, points: pointsOf(found, grid, (at) => at.diskUsedBytes) },
    {
      name: 'network.received',
      unit: 'bytes_per_second',
      device,
      points: pointsOf(found, grid, (at) => at.networkInPerSecond),
    },
    {
      name: 'network.sent',
      unit: 'bytes_per_second',
      device,
      points: pointsOf(found, grid, (at) => at.networkOutPerSecond),
    },
  ];
}

/** Series of the GPUs that the engine reported in this period. */
function gpuSeries(found: readonly GpuMetricBucket[], grid: BucketGrid): readonly Series[] {
  const reported = found.filter(({ percent }) => percent !== null);
  const byGpu = Map.groupBy(reported, ({ position, address }) =>
    grid.isSingle ? address : `node-${position}/${address}`,
  );
  return [...byGpu]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([device, steps]) => ({
      name: 'gpu.utilisation',
      unit: 'percent' as const,
      device,
      points: pointsOf(steps, grid, ({ percent }) => percent),
    }));
}
