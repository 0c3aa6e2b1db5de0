import type { ComputeDriver } from '@millrace/compute';
import { withDeadline, type Clock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { ClusterId, RentalId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { counter } from '@millrace/platform/telemetry';
import {
  defaultMonitoring,
  forgottenBefore,
  hasIdled,
  observe,
  type MonitoringPolicy,
} from './monitoring.ts';
import type { IdleRule } from './rental.ts';
import {
  forgetSamples,
  insertSamples,
  readIdleness,
  readTargets,
  saveIdleness,
  takeSampleShards,
  type SampleTarget,
  type TakenSample,
  type WatchedIdleness,
} from './samples.store.ts';

const taken = counter('millrace_rental_samples_total', 'Samples of machines of rentals, by outcome');

export interface SamplingParts {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  readonly drivers: (clusterId: ClusterId) => Promise<ComputeDriver>;
  /** Carries an idle rule out. It looks at the rental again, which may have changed since it was sampled. */
  readonly onIdle: (rental: IdledRental) => Promise<void>;
  readonly policy?: MonitoringPolicy;
}

export interface IdledRental extends Pick<SampleTarget, 'rentalId' | 'orgId' | 'mode'> {
  readonly rule: IdleRule;
}

const SHARDS_AT_ONCE = 16;
const ROWS_AT_ONCE = 1_000;
const isolation = 'read committed';

/**
 * One round over the shards that are due: asks their machines what they measure, writes it down, and carries out idle
 * rules. Any number of workers may; each shard is taken up by one of them. Answers how many shards it took: while there
 * are as many as it takes, there may be more.
 */
export async function sampleDue(parts: SamplingParts, signal: AbortSignal): Promise<'busy' | 'idle'> {
  const { db, clock, policy = defaultMonitoring } = parts;
  const unsampledSince = new Date(clock.nowMs() - policy.everyMs);
  const shards = await db.transaction({ name: 'take shards to sample', isolation }, (tx) =>
    takeSampleShards(tx, { unsampledSince, limit: SHARDS_AT_ONCE }),
  );
  if (shards.length > 0) await sampleShards(parts, shards, signal);
  return shards.length === SHARDS_AT_ONCE ? 'busy' : 'idle';
}

async function sampleShards(
  parts: SamplingParts,
  shards: readonly number[],
  signal: AbortSignal,
): Promise<void> {
  const { db } = parts;
  const targets = await readTargets(db, shards);
  const byCluster = Map.groupBy(targets, ({ clusterId }) => clusterId);
  const samples = (
    await Promise.all([...byCluster].map(([id, some]) => askCluster(parts, id, some, signal)))
  ).flat();
  for (let first = 0; first < samples.length; first += ROWS_AT_ONCE) {
    const some = samples.slice(first, first + ROWS_AT_ONCE);
    await db.transaction({ name: 'keep samples', isolation }, (tx) => insertSamples(tx, some));
  }
  await watchIdleness(parts, targets, samples);
}

/** Asks several machines of a cluster at once, and gives up with the cluster when it takes too long altogether. */
async function askCluster(
  parts: SamplingParts,
  clusterId: ClusterId,
  targets: readonly SampleTarget[],
  signal: AbortSignal,
): Promise<readonly TakenSample[]> {
  const { clock, log, drivers, policy = defaultMonitoring } = parts;
  const found: TakenSample[] = [];
  const waiting = [...targets];
  try {
    await withDeadline(clock, 'Sampling', policy.roundTimeoutMs, async (deadline) => {
      const ended = AbortSignal.any([deadline, signal]);
      const driver = await drivers(clusterId);
      if (!driver.can.metrics) return;
      const askOn = async (): Promise<void> => {
        for (let next = waiting.shift(); next !== undefined && !ended.aborted; next = waiting.shift()) {
          const sample = await ask(parts, driver, next, ended);
          if (sample !== null && !ended.aborted) found.push(sample);
        }
      };
      await Promise.all(Array.from({ length: policy.atOnce }, askOn));
    });
  } catch (error) {
    log.warn({ err: error, clusterId, left: waiting.length }, 'machines of a cluster could not be sampled');
  }
  taken.add(found.length, { outcome: 'taken' });
  taken.add(targets.length - found.length, { outcome: 'missed' });
  return [...found];
}

/** Null: it could not be asked. That is nothing to be said of each machine. */
async function ask(
  { clock, policy = defaultMonitoring }: SamplingParts,
  driver: ComputeDriver,
  target: SampleTarget,
  signal: AbortSignal,
): Promise<TakenSample | null> {
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

async function watchIdleness(
  parts: SamplingParts,
  targets: readonly SampleTarget[],
  samples: readonly TakenSample[],
): Promise<void> {
  const { db, policy = defaultMonitoring, log } = parts;
  const ruled = targets.filter(({ idle }) => idle !== null);
  if (ruled.length === 0) return;
  const before = await readIdleness(db, ruled);
  const sampled = Map.groupBy(samples, ({ rentalId }) => rentalId);
  const watched: WatchedIdleness[] = [];
  const idled: IdledRental[] = [];
  for (const [rentalId, machines] of Map.groupBy(ruled, (target) => target.rentalId)) {
    const [{ orgId, mode, idle: rule } = noTarget(rentalId)] = machines;
    const seen = sampled.get(rentalId) ?? [];
    // Of a rental some machines of which did not answer nothing is concluded.
    if (rule === null || seen.length < machines.length) continue;
    const idleness = observe(
      before.get(rentalId) ?? null,
      seen.map(({ sample }) => sample),
      policy,
    );
    watched.push({ rentalId, orgId, mode, idleness });
    if (hasIdled(idleness, rule)) idled.push({ rentalId, orgId, mode, rule });
  }
  for (let first = 0; first < watched.length; first += ROWS_AT_ONCE) {
    const some = watched.slice(first, first + ROWS_AT_ONCE);
    await db.transaction({ name: 'keep idleness', isolation }, (tx) => saveIdleness(tx, some));
  }
  for (const rental of idled) {
    await parts.onIdle(rental).catch((error: unknown) => {
      log.warn({ err: error, rentalId: rental.rentalId }, 'an idle rule could not be carried out');
    });
  }
}

function noTarget(rentalId: RentalId): never {
  throw new Error(`Rental ${rentalId} was grouped without a machine.`);
}

const FORGOTTEN_AT_ONCE = 10_000;

/** Empties what is older than samples are kept. Answers how many days it found. */
export function forgetOldSamples(db: Db, now: Date): Promise<number> {
  return db.transaction({ name: 'forget samples', isolation }, (tx) =>
    forgetSamples(tx, { before: forgottenBefore(now), limit: FORGOTTEN_AT_ONCE }),
  );
}
