import type { ComputeDriver } from '@millrace/compute';
import { withDeadline, type Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { toUuid, type ClusterId, type RentalId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { createItemRunner } from '@millrace/platform/loops';
import { counter } from '@millrace/platform/telemetry';
import { idleRulesLoop, storeSamplesLoop, sampleClustersLoop } from '../model/loops.ts';
import {
  defaultMonitoring,
  samplesExpireBefore,
  isIdleLongEnough,
  updateIdleness,
  type MonitoringPolicy,
} from './idleness.ts';
import type { IdleRule } from '../model/rental.ts';
import {
  deleteOldSamples,
  insertSamples,
  readIdleness,
  readSampleTargets,
  saveIdleness,
  claimSampleShards,
  type SampleTarget,
  type RentalSample,
  type RentalIdleness,
} from './samples.store.ts';

const samplesCounter = counter('millrace_rental_samples_total');

export interface SamplingDeps {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'warn'>;
  readonly drivers: (clusterId: ClusterId) => Promise<ComputeDriver>;
  /** Executes an idle rule after checking the rental again, which may have changed since it was sampled. */
  readonly onIdle: (rental: IdleRental) => Promise<void>;
  readonly policy?: MonitoringPolicy;
}

export interface IdleRental extends Pick<SampleTarget, 'rentalId' | 'orgId' | 'mode'> {
  readonly rule: IdleRule;
}

const SHARD_BATCH = 16;
const RENTAL_BATCH = 500;
const isolation = 'read committed';

/**
 * Samples the machines of due shards, stores the samples and executes idle rules. Any number of workers may run this; each shard
 * is claimed by one. Returns `busy` if more shards may be due.
 */
export async function sampleDueShards(deps: SamplingDeps, signal: AbortSignal): Promise<'busy' | 'idle'> {
  const { db, policy = defaultMonitoring } = deps;
  const unsampledSince = new Date(db.clock.nowMs() - policy.everyMs);
  const shards = await db.transaction({ name: 'take shards to sample', isolation }, (tx) =>
    claimSampleShards(tx, { unsampledSince, limit: SHARD_BATCH }),
  );
  if (shards.length > 0) await sampleShards(deps, shards, signal);
  return shards.length === SHARD_BATCH ? 'busy' : 'idle';
}

async function sampleShards(
  deps: SamplingDeps,
  shards: readonly number[],
  signal: AbortSignal,
): Promise<void> {
  const { db, clock, log } = deps;
  const targets = await readSampleTargets(db, shards);
  const byCluster = Map.groupBy(targets, ({ clusterId }) => clusterId);
  const idled: IdleRental[] = [];
  await createItemRunner(sampleClustersLoop, { db, clock, log }).run([...byCluster], {
    key: ([clusterId]) => toUuid(clusterId),
    work: async ([clusterId, some], ends) => {
      idled.push(...(await sampleCluster(deps, clusterId, some, ends)));
    },
    signal,
  });
  await createItemRunner(idleRulesLoop, { db, clock, log }).run(idled, {
    key: ({ rentalId }) => toUuid(rentalId),
    work: (rental) => deps.onIdle(rental),
    signal,
  });
}

/** Samples one cluster independently of others. Returns the rentals that have been idle long enough. */
async function sampleCluster(
  deps: SamplingDeps,
  clusterId: ClusterId,
  targets: readonly SampleTarget[],
  signal: AbortSignal,
): Promise<readonly IdleRental[]> {
  const samples = await sampleMachines(deps, clusterId, targets, signal);
  const watched = await computeIdleness(deps, targets, samples);
  const stored = new Set(await storeSamples(deps, samples, watched));
  return watched.flatMap(({ rentalId, orgId, mode, idleness, rule }) =>
    stored.has(rentalId) && isIdleLongEnough(idleness, rule) ? [{ rentalId, orgId, mode, rule }] : [],
  );
}

/** Stores many rentals in one transaction. If that fails, tries smaller batches and postpones only rentals that fail alone. */
async function storeSamples(
  { db, clock, log }: SamplingDeps,
  samples: readonly RentalSample[],
  watched: readonly RentalIdleness[],
): Promise<readonly RentalId[]> {
  const byRental = Map.groupBy(samples, ({ rentalId }) => rentalId);
  const idleness = new Map(watched.map((one) => [one.rentalId, one]));
  const rentals = [...byRental.keys()];
  const runner = createItemRunner(storeSamplesLoop, { db, clock, log });
  const stored: RentalId[] = [];
  for (let first = 0; first < rentals.length; first += RENTAL_BATCH) {
    await runner.runBatch(rentals.slice(first, first + RENTAL_BATCH), {
      key: (rentalId) => toUuid(rentalId),
      together: async (some) => {
        await db.transaction({ name: 'keep samples', isolation }, async (tx) => {
          await insertSamples(
            tx,
            some.flatMap((rentalId) => byRental.get(rentalId) ?? []),
          );
          const seen = some.flatMap((rentalId) => idleness.get(rentalId) ?? []);
          if (seen.length > 0) await saveIdleness(tx, seen);
        });
        stored.push(...some);
      },
    });
  }
  return stored;
}

/** Samples machines concurrently until the deadline of the round. Throws only if no machine responded before the failure. */
async function sampleMachines(
  deps: SamplingDeps,
  clusterId: ClusterId,
  targets: readonly SampleTarget[],
  signal: AbortSignal,
): Promise<readonly RentalSample[]> {
  const { clock, log, drivers, policy = defaultMonitoring } = deps;
  const found: RentalSample[] = [];
  const waiting = [...targets];
  try {
    await withDeadline(clock, 'Sampling', policy.roundTimeoutMs, async (deadline) => {
      const ended = AbortSignal.any([deadline, signal]);
      const driver = await drivers(clusterId);
      if (!driver.can.metrics) return;
      const sampleNext = async (): Promise<void> => {
        for (let next = waiting.shift(); next !== undefined && !ended.aborted; next = waiting.shift()) {
          const sample = await sampleMachine(deps, driver, next, ended);
          if (sample !== null && !ended.aborted) found.push(sample);
        }
      };
      await Promise.all(Array.from({ length: policy.atOnce }, sampleNext));
    });
  } catch (error) {
    if (found.length === 0) throw error;
    log.warn({ err: error, clusterId, left: waiting.length }, 'sampling of a cluster is incomplete');
  } finally {
    samplesCounter.add(found.length, { outcome: 'taken' });
    samplesCounter.add(targets.length - found.length, { outcome: 'missed' });
  }
  return [...found];
}

/** Null if the machine did not respond. Not logged for each machine. */
async function sampleMachine(
  { clock, policy = defaultMonitoring }: SamplingDeps,
  driver: ComputeDriver,
  target: SampleTarget,
  signal: AbortSignal,
): Promise<RentalSample | null> {
  const { rentalId, orgId, mode, attempt, position, externalId } = target;
  try {
    const metrics = await withDeadline(clock, 'Sampling a machine', policy.callTimeoutMs, (deadline) =>
      driver.metrics({ externalId, orgId }, AbortSignal.any([deadline, signal])),
    );
    return { rentalId, orgId, mode, sample: { ...metrics, attempt, position } };
  } catch {
    return null;
  }
}

/** Idleness of each rental with an idle rule. */
async function computeIdleness(
  { db, policy = defaultMonitoring }: SamplingDeps,
  targets: readonly SampleTarget[],
  samples: readonly RentalSample[],
): Promise<readonly (RentalIdleness & { readonly rule: IdleRule })[]> {
  const ruled = targets.filter(({ idle }) => idle !== null);
  if (ruled.length === 0) return [];
  const before = await readIdleness(db, ruled);
  const sampled = Map.groupBy(samples, ({ rentalId }) => rentalId);
  const watched: (RentalIdleness & { readonly rule: IdleRule })[] = [];
  for (const [rentalId, machines] of Map.groupBy(ruled, (target) => target.rentalId)) {
    const [{ orgId, mode, idle: rule } = missingTarget(rentalId)] = machines;
    const seen = sampled.get(rentalId) ?? [];
    // If some machines did not respond, nothing is concluded.
    if (rule === null || seen.length < machines.length) continue;
    const idleness = updateIdleness(
      before.get(rentalId) ?? null,
      seen.map(({ sample }) => sample),
      policy,
    );
    watched.push({ rentalId, orgId, mode, idleness, rule });
  }
  return watched;
}

function missingTarget(rentalId: RentalId): never {
  throw new Error(`Rental ${rentalId} has no machine to sample.`);
}

const SAMPLE_DELETE_BATCH = 10_000;

/** Deletes expired samples, and returns the number of days found. */
export function expireSamples(db: Db): Promise<number> {
  return db.transaction({ name: 'forget samples', isolation }, (tx) =>
    deleteOldSamples(tx, { before: samplesExpireBefore(tx.clock.now()), limit: SAMPLE_DELETE_BATCH }),
  );
}
