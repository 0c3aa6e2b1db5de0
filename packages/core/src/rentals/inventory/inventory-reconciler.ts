import type { ComputeDriver } from '@millrace/compute';
import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { toUuid, type ClusterId } from '@millrace/platform/ids';
import { startLoop, type Loop } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import { createItemRunner, defineLoop } from '@millrace/platform/loops';
import { msToSeconds } from '@millrace/platform/money';
import { counter, gauge, histogram } from '@millrace/platform/telemetry';
import { confirmWriteOffs } from '../../fleet/index.ts';
import {
  runConcurrently,
  compareCluster,
  type RepairFinding,
  type CompareDeps,
  type ComparisonResult,
} from './compare-cluster.ts';
import { enqueueReconcile, scheduleAt, scheduleSoon } from '../model/rental-transitions.ts';
import { resumeDeletions } from '../model/machines.store.ts';
import { createOrphanRemoval, recordOrphans, type OrphanRemoval } from './remove-orphans.ts';
import { recordAddress, repairRental } from './repair-rental.ts';
import { reconcilerActor } from '../reconcile/lost-rental.ts';
import {
  defaultInventoryPolicy,
  repairMetricKind,
  type InventoryPolicy,
  type Repair,
  type ComparisonContext,
} from './plan-repairs.ts';
import { findRental, rescheduleRental } from '../model/rentals.store.ts';
import {
  claimComparison,
  endComparison,
  findOverdue,
  lockOverdue,
  type OverdueRental,
  readComparisonAges,
  comparisonGroups,
  INCOMPLETE,
  type ComparisonClaim,
  type Comparison,
  type ComparisonGroup,
} from './comparisons.store.ts';
import type { OrphanMachine } from './plan-orphans.ts';

const repairsDone = counter('millrace_rentals_repairs_total');
const comparisons = counter('millrace_rentals_comparisons_total');
const compareSeconds = histogram('millrace_rentals_compare_seconds');
const ageGauge = gauge('millrace_rentals_compared_age_seconds');

export interface InventoryReconcilerDeps {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Identifies this process in comparison claims. */
  readonly holder: string;
  readonly drivers: (clusterId: ClusterId) => Promise<ComputeDriver>;
  readonly policy?: Partial<InventoryPolicy>;
  /** False while the database might not be the newest state: no orphan is removed. */
  readonly mayRemove?: () => boolean;
  /** True if the database may have lost the row of this machine: it is removed only with an operator's approval. */
  readonly mayHaveLostRow?: CompareDeps['mayHaveLostRow'];
}

/** `partly`: some findings are not stored yet. `gone`: the cluster was removed. */
export type ComparisonOutcome = 'whole' | 'partly' | 'unanswered' | 'gone';

export interface ComparisonReport {
  readonly clusterId: ClusterId;
  readonly outcome: ComparisonOutcome;
  readonly repairs: readonly Repair[];
  /** Orphans to remove now. */
  readonly orphans: readonly OrphanMachine[];
}

const lateLoop = defineLoop({ name: 'repair late rentals', over: 'organisations' });

const REPAIR_CONCURRENCY = 8;
const LATE_CHECK_MS = 10_000;
const OVERDUE_BATCH = 200;
const POLL_MS = 1_000;
const CLUSTERS_REPORTED_MAX = 200;
/** Concurrent comparisons per group. A hanging comparison only waits for its engine. */
const concurrencyByGroup: Readonly<Record<ComparisonGroup, number>> = { answering: 32, unanswering: 64 };

/**
 * Compares engines with rentals, each cluster every ten seconds and after hints, and repairs differences. Any number of processes
 * may run it: a claim allows one comparison per cluster at a time.
 */
export class InventoryReconciler {
  readonly #deps: InventoryReconcilerDeps;
  readonly #look: CompareDeps;
  readonly #loops: Loop[] = [];
  readonly #hinted = new Set<ClusterId>();
  readonly #waiting = new Map<ClusterId, () => void>();
  readonly #orphans: OrphanRemoval;
  readonly #comparing: Readonly<Record<ComparisonGroup, Map<ClusterId, Promise<unknown>>>> = {
    answering: new Map(),
    unanswering: new Map(),
  };

  constructor(deps: InventoryReconcilerDeps) {
    this.#deps = deps;
    const { db, clock, drivers } = deps;
    const policy = { ...defaultInventoryPolicy, ...deps.policy };
    const { log, mayRemove = () => true, mayHaveLostRow = () => false } = deps;
    this.#look = { db, clock, drivers, policy, mayHaveLostRow };
    const { callTimeoutMs } = policy;
    const onRemoved = (): void => repairsDone.add(1, { kind: 'orphan' });
    this.#orphans = createOrphanRemoval({
      db,
      clock,
      log,
      drivers,
      callTimeoutMs,
      onRemoved,
      mayRemove,
      mayHaveLostRow,
    });
  }

  start(): void {
    if (this.#loops.length > 0) return;
    const { clock, log } = this.#deps;
    const compare = { name: 'compare rentals', clock, log, idleMs: POLL_MS, maxBackoffMs: LATE_CHECK_MS };
    this.#loops.push(startLoop(compare, async () => ((await this.#beginComparisons()) ? 'busy' : 'idle')));
    const late = {
      name: 'repair late rentals',
      clock,
      log,
      idleMs: LATE_CHECK_MS,
      maxBackoffMs: LATE_CHECK_MS,
    };
    this.#loops.push(
      startLoop(late, async () => {
        await this.#recordAges();
        return (await this.repairLate()) >= OVERDUE_BATCH ? 'busy' : 'idle';
      }),
    );
  }

  /** Waits for running comparisons. */
  async stop(): Promise<void> {
    for (const cancel of this.#waiting.values()) cancel();
    await Promise.all(this.#loops.map((loop) => loop.stop()));
    await Promise.all(Object.values(this.#comparing).flatMap((running) => [...running.values()]));
    await this.#orphans.stop();
  }

  /** Resolves when this process removes no orphan. */
  orphansSettled(): Promise<void> {
    return this.#orphans.settled();
  }

  /** Clusters that did not respond last time have separate slots, so that they do not delay the others. */
  async #beginComparisons(): Promise<boolean> {
    let hasStarted = false;
    for (const clusterId of this.#hinted) {
      if (this.#roomFor('answering') <= 0) break;
      this.#hinted.delete(clusterId);
      const hinted = await this.#claim({ clusterId, everyMs: this.#look.policy.gapMs });
      if (hinted !== null) hasStarted = this.#begin(hinted);
    }
    for (const group of comparisonGroups) {
      while (this.#roomFor(group) > 0) {
        const due = await this.#claim({ everyMs: this.#look.policy.everyMs, group });
        if (due === null) break;
        hasStarted = this.#begin(due);
      }
    }
    return hasStarted;
  }

  #roomFor(group: ComparisonGroup): number {
    return concurrencyByGroup[group] - this.#comparing[group].size;
  }

  /** A failed comparison needs no retry here: the cluster is claimed again when the next one is due. */
  #begin(comparison: Comparison): true {
    const running = this.#comparing[comparison.wasUnanswered ? 'unanswering' : 'answering'];
    const { clusterId } = comparison;
    const work = this.#compare(comparison)
      .catch((error: unknown) => {
        this.#deps.log.warn({ err: error, clusterId }, 'comparison of a cluster failed');
      })
      .finally(() => {
        if (running.get(clusterId) === work) running.delete(clusterId);
      });
    running.set(clusterId, work);
    return true;
  }

  /** Requests an early comparison. Hints in quick succession cause one comparison. */
  hint(clusterId: ClusterId): void {
    if (this.#waiting.has(clusterId)) return;
    const cancel = this.#deps.clock.after(this.#look.policy.gapMs, () => {
      this.#waiting.delete(clusterId);
      this.#hinted.add(clusterId);
      for (const loop of this.#loops) loop.wake();
    });
    this.#waiting.set(clusterId, cancel);
  }

  /** Runs a hinted comparison or the one that is due longest. Null if none is due. */
  async compareNext(): Promise<ComparisonReport | null> {
    for (const clusterId of this.#hinted) {
      this.#hinted.delete(clusterId);
      const hinted = await this.#claim({ clusterId, everyMs: this.#look.policy.gapMs });
      if (hinted !== null) return this.#compare(hinted);
    }
    const due = await this.#claim({ everyMs: this.#look.policy.everyMs });
    return due === null ? null : this.#compare(due);
  }

  /** Enqueues overdue rentals and returns their number. */
  async repairLate(): Promise<number> {
    const { db, log } = this.#deps;
    const found = await findOverdue(db, lateLoop, { now: db.clock.now(), limit: OVERDUE_BATCH });
    const late: OverdueRental[] = [];
    await createItemRunner(lateLoop, { db, log }).runBatch(found, {
      key: ({ id }) => toUuid(id),
      together: async (some) => void late.push(...(await this.#callForLate(some))),
    });
    repairsDone.add(late.length, { kind: 'stuck' });
    if (late.length > 0) {
      const some = late.slice(0, 20).map(({ id }) => id);
      log.error({ count: late.length, rentals: some }, 'rentals are overdue; no worker has reconciled them');
    }
    return late.length;
  }

  #callForLate(some: readonly OverdueRental[]): Promise<readonly OverdueRental[]> {
    const options = { name: 'repair late rentals', isolation: 'read committed' } as const;
    return this.#deps.db.transaction(options, async (tx) => {
      const now = tx.clock.now();
      const late = await lockOverdue(tx, now, some);
      for (const { orgId, id } of late) {
        const rental = await findRental(tx, orgId, id);
        if (rental === null) continue;
        await rescheduleRental(tx, rental, scheduleSoon(now));
        await enqueueReconcile(tx, rental, reconcilerActor);
      }
      return late;
    });
  }

  #claim(which: Pick<ComparisonClaim, 'everyMs' | 'clusterId' | 'group'>): Promise<Comparison | null> {
    const { db, holder } = this.#deps;
    const { leaseMs, watchGapMs } = this.#look.policy;
    return db.transaction({ name: 'claim comparison', isolation: 'read committed' }, (tx) =>
      claimComparison(tx, { holder, now: tx.clock.now(), leaseMs, watchGapMs, ...which }),
    );
  }

  async #compare(comparison: Comparison): Promise<ComparisonReport> {
    try {
      return await this.#compareAndRepair(comparison);
    } catch (error) {
      // Ends the claim early, so that the next comparison does not wait for the lease to expire.
      await this.#end(comparison, { wholeAt: null, problem: 'The comparison failed.' }).catch(
        () => undefined,
      );
      throw error;
    }
  }

  #end(comparison: Comparison, end: Parameters<typeof endComparison>[2]): Promise<void> {
    return this.#deps.db.transaction({ name: 'end comparison', isolation: 'read committed' }, (tx) =>
      endComparison(tx, comparison, end),
    );
  }

  async #compareAndRepair(comparison: Comparison): Promise<ComparisonReport> {
    const { clock, log } = this.#deps;
    const startMs = clock.monotonicMs();
    const { clusterId } = comparison;
    const result = await compareCluster(this.#look, comparison);
    if (result === null) return { clusterId, outcome: 'gone', repairs: [], orphans: [] };
    const { isDone, repairs } = await this.#repairAll(comparison, result);
    await this.#noteAddresses(result);
    await this.#confirmWriteOffs(result);
    const reapable = await recordOrphans(this.#deps, comparison, result);
    const outcome = result.problem !== null ? 'unanswered' : isDone ? 'whole' : 'partly';
    await this.#end(comparison, {
      wholeAt: outcome === 'whole' ? result.context.now : null,
      problem: outcome === 'partly' ? INCOMPLETE : (result.problem?.slice(0, 1_000) ?? null),
    });
    comparisons.add(1, { outcome });
    if (result.problem === null && comparison.wasUnanswered) await this.#resumeRemovals(clusterId);
    this.#orphans.begin(clusterId, reapable);
    compareSeconds.record(msToSeconds(clock.monotonicMs() - startMs), { driver: result.cluster.driver });
    if (repairs.length > 0) {
      log.info({ clusterId, cluster: result.cluster.name, ...countByKind(repairs) }, 'rentals were repaired');
    }
    return { clusterId, outcome, repairs, orphans: reapable };
  }

  /** Written-off machines that the engine does not list are deleted, so their nodes can be used again. */
  async #confirmWriteOffs({ cluster, writtenOff }: ComparisonResult): Promise<void> {
    if (writtenOff === null) return;
    await this.#deps.db.transaction({ name: 'confirm write-offs', isolation: 'read committed' }, (tx) =>
      confirmWriteOffs(tx, cluster.id, writtenOff),
    );
  }

  /** The engine responds again: deletions that wait for a retry are due now. */
  async #resumeRemovals(clusterId: ClusterId): Promise<void> {
    const { db, log } = this.#deps;
    const count = await db.transaction({ name: 'resume removals', isolation: 'read committed' }, (tx) =>
      resumeDeletions(tx, clusterId, scheduleAt(tx.clock.now())),
    );
    if (count > 0) log.info({ clusterId, count }, 'cluster responds again; its deletions are resumed');
  }

  /** One transaction per rental. If a repair is left, the time of the last complete comparison does not advance. */
  async #repairAll(
    comparison: Comparison,
    { cluster, findings, context, isUnsettled }: ComparisonResult,
  ): Promise<{ readonly isDone: boolean; readonly repairs: readonly Repair[] }> {
    const { clock, log } = this.#deps;
    if (context.isVanishingHeld) {
      log.error(
        { clusterId: cluster.id, cluster: cluster.name },
        'engine reports too many missing machines at once; they are not treated as deleted',
      );
    }
    const repairs: Repair[] = [];
    let isDone = !isUnsettled;
    const untilMs = clock.monotonicMs() + this.#look.policy.repairsMs;
    await runConcurrently(findings, REPAIR_CONCURRENCY, async (finding) => {
      if (clock.monotonicMs() > untilMs) {
        isDone = false;
        return;
      }
      try {
        const done = await this.#repair(comparison, finding, context);
        if (done === 'overtaken') isDone = false;
        else repairs.push(...done);
      } catch (error) {
        isDone = false;
        log.warn(
          { err: error, rentalId: finding.rentalId },
          'rental could not be repaired; the next comparison retries',
        );
      }
    });
    for (const repair of repairs) {
      const kind = repairMetricKind(repair);
      if (kind !== null) repairsDone.add(1, { kind });
    }
    return { isDone, repairs };
  }

  /** The next comparison retries addresses that could not be stored. */
  async #noteAddresses({ addresses }: ComparisonResult): Promise<void> {
    const { db, log } = this.#deps;
    await runConcurrently(addresses, REPAIR_CONCURRENCY, async (found) => {
      try {
        await db.transaction({ name: 'note address', isolation: 'read committed' }, (tx) =>
          recordAddress(tx, found),
        );
      } catch (error) {
        log.warn({ err: error, rentalId: found.rentalId }, 'address of a machine could not be stored');
      }
    });
  }

  #repair(
    comparison: Comparison,
    finding: RepairFinding,
    context: ComparisonContext,
  ): Promise<readonly Repair[] | 'overtaken'> {
    return this.#deps.db.transaction({ name: 'repair rental', isolation: 'read committed' }, (tx) =>
      repairRental(tx, comparison, finding, context),
    );
  }

  async #recordAges(): Promise<void> {
    const { db } = this.#deps;
    for (const { clusterName, wholeAt } of await readComparisonAges(db, CLUSTERS_REPORTED_MAX)) {
      const ageMs = wholeAt === null ? 0 : Math.max(0, db.clock.nowMs() - wholeAt.getTime());
      ageGauge.record(msToSeconds(ageMs), { cluster: clusterName });
    }
  }
}

function countByKind(repairs: readonly Repair[]): Readonly<Record<string, number>> {
  const kinds = Map.groupBy(repairs, (repair) => repairMetricKind(repair) ?? 'noted');
  return Object.fromEntries([...kinds].map(([kind, all]) => [kind, all.length]));
}
