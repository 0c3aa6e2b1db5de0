import { isDriverError, type ComputeDriver } from '@millrace/compute';
import { withDeadline, type Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { toUuid, type ClusterId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { createItemRunner, defineLoop } from '@millrace/platform/loops';
import { gauge } from '@millrace/platform/telemetry';
import type { ComparisonResult } from './compare-cluster.ts';
import { reconcilerActor } from '../reconcile/lost-rental.ts';
import {
  findRecordedMachines,
  deleteOrphans,
  isNewestComparison,
  isRemovalAllowed,
  recordOrphanRemoval,
  insertOrphans,
  type Comparison,
} from './comparisons.store.ts';
import type { OrphanMachine } from './plan-orphans.ts';
import { quarantineNodeWithUnknownMachine, quarantineUncleanNodeByName } from '../../fleet/index.ts';

/** The orphans of a cluster are one item: a hanging engine uses one slot until its timeout, and no comparison waits for it. */
const orphanLoop = defineLoop({
  name: 'remove orphaned machines',
  over: 'clusters',
  timeoutMs: 60_000,
  atOnce: 32,
  firstRetryMs: 5_000,
  maxRetryMs: 10 * 60_000,
});

const deferredGauge = gauge('millrace_rentals_strays_held');

/** A removal that has been tried for longer is logged as an error. */
const REMOVAL_LATE_MS = 10 * 60_000;

export interface OrphanRemovalDeps {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'warn' | 'error'>;
  readonly drivers: (clusterId: ClusterId) => Promise<ComputeDriver>;
  /** Timeout of one call to an engine. */
  readonly callTimeoutMs: number;
  /** False while the database might not be the newest state. A removal then counts as neither tried nor late. */
  readonly mayRemove: () => boolean;
  /** True if the database may have lost the row of this machine: it is removed only with an operator's approval. */
  readonly mayHaveLostRow: (orphan: OrphanMachine) => boolean;
  readonly onRemoved: () => void;
}

export interface OrphanRemoval {
  /** Starts the removal of a cluster's orphans, unless it is in progress or postponed. Returns at once. */
  begin(clusterId: ClusterId, orphans: readonly OrphanMachine[]): void;
  /** Resolves when no removal is in progress. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

export function createOrphanRemoval(deps: OrphanRemovalDeps): OrphanRemoval {
  const { clock, log, db } = deps;
  const runner = createItemRunner(orphanLoop, { clock, log, db, claims: true });
  const stopping = new AbortController();
  const started = new Map<ClusterId, Promise<unknown>>();
  const settled = async (): Promise<void> => {
    while (started.size > 0) await Promise.all(started.values());
  };
  return {
    begin(clusterId, orphans) {
      if (orphans.length === 0 || started.has(clusterId) || started.size >= orphanLoop.atOnce) return;
      const work = runner
        .run([clusterId], {
          key: toUuid,
          work: (_, signal) => removeOrphans(deps, clusterId, orphans, signal),
          signal: stopping.signal,
        })
        .catch((error: unknown) => {
          log.warn({ err: error, clusterId }, 'removal of orphaned machines could not be recorded');
        })
        .finally(() => started.delete(clusterId));
      started.set(clusterId, work);
    },
    settled,
    async stop() {
      stopping.abort();
      await settled();
    },
  };
}

/** A failure on one orphan does not stop the next. */
async function removeOrphans(
  deps: OrphanRemovalDeps,
  clusterId: ClusterId,
  orphans: readonly OrphanMachine[],
  signal: AbortSignal,
): Promise<void> {
  let problem: string | null = null;
  for (const orphan of orphans) {
    if (signal.aborted) break;
    problem = (await removeOrphan(deps, clusterId, orphan, signal)) ?? problem;
  }
  if (problem !== null) throw new Error(problem);
}

/** Disconnects before deleting, like every deletion. The next comparison confirms it. Returns the error, if any. */
async function removeOrphan(
  deps: OrphanRemovalDeps,
  clusterId: ClusterId,
  orphan: OrphanMachine,
  signal: AbortSignal,
): Promise<string | null> {
  const { db, clock, log, callTimeoutMs } = deps;
  if (!deps.mayRemove()) return null;
  if (deps.mayHaveLostRow(orphan) && !(await isRemovalAllowed(db, clusterId, db.clock.now()))) return null;
  // A rental may have adopted the machine since it was listed.
  if ((await findRecordedMachines(db, [orphan.externalId])).get(orphan.externalId)?.isLive === true)
    return null;
  const about = { clusterId, externalId: orphan.externalId, nodeName: orphan.nodeName };
  let problem: string | null = null;
  try {
    const call = (what: string, work: (driver: ComputeDriver, ends: AbortSignal) => Promise<void>) =>
      withDeadline(clock, what, callTimeoutMs, async (late) =>
        work(await deps.drivers(clusterId), AbortSignal.any([late, signal])),
      );
    await call('Disconnecting a machine', (driver, ends) => driver.cutAccess(orphan, ends));
    await call('Deleting a machine', (driver, ends) => driver.terminate(orphan, ends));
  } catch (error) {
    problem = error instanceof Error ? error.message : String(error);
    const cause = { why: problem, actor: reconcilerActor };
    if (isDriverError(error, 'unclean')) await quarantineUncleanNodeByName(db, about, cause);
  }
  await db.transaction({ name: 'note reaping', isolation: 'read committed' }, (tx) =>
    recordOrphanRemoval(tx, clusterId, orphan, problem?.slice(0, 2_000) ?? null),
  );
  if (problem === null) {
    deps.onRemoved();
    log.warn(about, 'orphaned machine was removed');
    return null;
  }
  const startedMs = orphan.removalStartedAt?.getTime() ?? db.clock.nowMs();
  const isLate = db.clock.nowMs() - startedMs > REMOVAL_LATE_MS;
  log[isLate ? 'error' : 'warn'](
    { ...about, problem },
    'orphaned machine could not be removed; it will be retried',
  );
  return problem;
}

/** Stores new orphans and returns those to remove now. */
export async function recordOrphans(
  { db, log }: Pick<OrphanRemovalDeps, 'db' | 'log'>,
  comparison: Comparison,
  { cluster, orphans: plan }: ComparisonResult,
): Promise<readonly OrphanMachine[]> {
  if (plan === null) return [];
  const about = { clusterId: cluster.id, cluster: cluster.name };
  const heldCount = (plan.isPersonNeeded ? plan.held.length : 0) + plan.lost.length;
  deferredGauge.record(heldCount, { cluster: cluster.name });
  if (plan.misplaced.length > 0) {
    const some = plan.misplaced.slice(0, 20).map(({ externalId, nodeName }) => ({ externalId, nodeName }));
    log.error({ ...about, machines: some }, 'machines are on another cluster than their rentals');
  }
  if (plan.isPersonNeeded) {
    const some = plan.held.slice(0, 20).map(({ externalId, nodeName }) => ({ externalId, nodeName }));
    log.error(
      { ...about, count: plan.held.length, machines: some },
      'too many orphaned machines; an operator must approve their removal',
    );
  }
  if (plan.fresh.length === 0 && plan.resolved.length === 0 && plan.remove.length === 0) return [];
  // A machine without a row uses GPUs that the database considers free, until an operator approves its removal.
  for (const { nodeName } of plan.freshLost) {
    await quarantineNodeWithUnknownMachine(db, { clusterId: cluster.id, nodeName }, reconcilerActor);
  }
  const isCurrent = await db.transaction({ name: 'note strays', isolation: 'read committed' }, async (tx) => {
    if (!(await isNewestComparison(tx, comparison))) return false;
    await insertOrphans(tx, cluster, plan.fresh);
    await deleteOrphans(tx, cluster.id, plan.resolved);
    return true;
  });
  if (plan.fresh.length > 0) {
    const some = plan.fresh.slice(0, 20).map(({ externalId, nodeName }) => ({ externalId, nodeName }));
    log.warn({ ...about, count: plan.fresh.length, machines: some }, 'found orphaned machines');
  }
  return isCurrent ? plan.remove : [];
}
