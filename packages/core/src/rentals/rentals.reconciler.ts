import { isDriverError, type ComputeDriver } from '@millrace/compute';
import { withDeadline, type Clock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { ClusterId } from '@millrace/platform/ids';
import { startLoop, type Loop } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import { msToSeconds } from '@millrace/platform/money';
import { counter, gauge, histogram } from '@millrace/platform/telemetry';
import { inTurns, lookAt, type Finding, type LookParts, type LookResult } from './comparison.ts';
import { callDriver, dueSoon } from './move.ts';
import { noteAddress, reconcilerActor, repairRental } from './reconcile.acts.ts';
import {
  defaultReconcilePolicy,
  kindOf,
  type ReconcilePolicy,
  type Repair,
  type Scene,
} from './reconcile.ts';
import { findRental, touchRental } from './rentals.store.ts';
import {
  claimComparison,
  endComparison,
  findElsewhere,
  forgetStrays,
  isNewest,
  lockLate,
  noteReaping,
  readComparisonAges,
  rememberStrays,
  type Comparison,
} from './sightings.store.ts';
import type { Stray } from './strays.ts';
import { quarantineUncleanNamed } from './suspects.service.ts';

const repairsDone = counter(
  'millrace_rentals_repairs_total',
  'Repairs of rentals and their machines, by kind',
);
const comparisons = counter(
  'millrace_rentals_comparisons_total',
  'Comparisons of clusters by this process, by outcome',
);
const compareSeconds = histogram(
  'millrace_rentals_compare_seconds',
  'How long a comparison takes, with its repairs',
  {
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60],
  },
);
const ageGauge = gauge(
  'millrace_rentals_compared_age_seconds',
  'How long ago a cluster was last compared as a whole; the longest ago first',
);
const heldGauge = gauge(
  'millrace_rentals_strays_held',
  'Machines that no rental knows and that wait for a person, by cluster',
);

export interface ReconcilerParts {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Names this process among those that compare. */
  readonly holder: string;
  readonly drivers: (clusterId: ClusterId) => Promise<ComputeDriver>;
  readonly policy?: Partial<ReconcilePolicy>;
  /** How many clusters are compared at once. */
  readonly lanes?: number;
}

/** `partly`: something that was found is not written down yet. `gone`: the cluster is. */
export type ComparisonOutcome = 'whole' | 'partly' | 'unanswered' | 'gone';

export interface ComparisonReport {
  readonly clusterId: ClusterId;
  readonly outcome: ComparisonOutcome;
  readonly repairs: readonly Repair[];
  readonly reaped: readonly Stray[];
}

const REPAIRS_AT_ONCE = 8;
const LATE_EVERY_MS = 10_000;
const LATE_MAX = 200;
/** How often somebody asks whether a comparison is due. */
const POLL_MS = 1_000;
const CLUSTERS_TOLD = 200;
const REAP_LATE_MS = 10 * 60_000;

/**
 * Compares engines with rentals, each cluster every ten seconds and after hints, and repairs what differs. Any number of
 * processes may: they take the clusters in turns, one comparison of each at a time.
 */
export class RentalReconciler {
  readonly #parts: ReconcilerParts;
  readonly #look: LookParts;
  readonly #loops: Loop[] = [];
  readonly #hinted = new Set<ClusterId>();
  readonly #waiting = new Map<ClusterId, () => void>();

  constructor(parts: ReconcilerParts) {
    this.#parts = parts;
    const { db, clock, drivers } = parts;
    this.#look = { db, clock, drivers, policy: { ...defaultReconcilePolicy, ...parts.policy } };
  }

  start(): void {
    if (this.#loops.length > 0) return;
    const { clock, log, lanes = 16 } = this.#parts;
    const compare = { name: 'compare rentals', clock, log, idleMs: POLL_MS, maxBackoffMs: LATE_EVERY_MS };
    for (let lane = 0; lane < lanes; lane += 1) {
      this.#loops.push(
        startLoop(compare, async () => ((await this.compareNext()) === null ? 'idle' : 'busy')),
      );
    }
    const late = {
      name: 'repair late rentals',
      clock,
      log,
      idleMs: LATE_EVERY_MS,
      maxBackoffMs: LATE_EVERY_MS,
    };
    this.#loops.push(
      startLoop(late, async () => {
        await this.#recordAges();
        return (await this.repairLate()) >= LATE_MAX ? 'busy' : 'idle';
      }),
    );
  }

  /** Lets comparisons under way end. */
  async stop(): Promise<void> {
    for (const cancel of this.#waiting.values()) cancel();
    await Promise.all(this.#loops.map((loop) => loop.stop()));
  }

  /** Something may have changed there. Several hints that belong together are one comparison. */
  hint(clusterId: ClusterId): void {
    if (this.#waiting.has(clusterId)) return;
    const cancel = this.#parts.clock.after(this.#look.policy.gapMs, () => {
      this.#waiting.delete(clusterId);
      this.#hinted.add(clusterId);
      for (const loop of this.#loops) loop.wake();
    });
    this.#waiting.set(clusterId, cancel);
  }

  /** Makes the comparison that is due longest, or one that was hinted at. Null: none is. */
  async compareNext(): Promise<ComparisonReport | null> {
    for (const clusterId of this.#hinted) {
      this.#hinted.delete(clusterId);
      const hinted = await this.#claim({ clusterId, everyMs: this.#look.policy.gapMs });
      if (hinted !== null) return this.#compare(hinted);
    }
    const due = await this.#claim({ everyMs: this.#look.policy.everyMs });
    return due === null ? null : this.#compare(due);
  }

  /** Calls for rentals that nobody has worked on in time, and answers how many. */
  async repairLate(): Promise<number> {
    const { db, log } = this.#parts;
    const late = await db.transaction(
      { name: 'repair late rentals', isolation: 'read committed' },
      async (tx) => {
        const now = tx.clock.now();
        const found = await lockLate(tx, now, LATE_MAX);
        for (const { orgId, id } of found) {
          const rental = await findRental(tx, orgId, id);
          if (rental === null) continue;
          await touchRental(tx, rental, dueSoon(now));
          await callDriver(tx, rental, reconcilerActor);
        }
        return found;
      },
    );
    repairsDone.add(late.length, { kind: 'stuck' });
    if (late.length > 0) {
      const some = late.slice(0, 20).map(({ id }) => id);
      log.error({ count: late.length, rentals: some }, 'nobody has worked on these rentals in time');
    }
    return late.length;
  }

  #claim(which: { readonly everyMs: number; readonly clusterId?: ClusterId }): Promise<Comparison | null> {
    const { db, holder } = this.#parts;
    const { leaseMs, watchGapMs } = this.#look.policy;
    return db.transaction({ name: 'claim comparison', isolation: 'read committed' }, (tx) =>
      claimComparison(tx, { holder, now: tx.clock.now(), leaseMs, watchGapMs, ...which }),
    );
  }

  async #compare(comparison: Comparison): Promise<ComparisonReport> {
    try {
      return await this.#compareAndRepair(comparison);
    } catch (error) {
      // The next one need not wait for the lease to run out, if the database can be told.
      await this.#end(comparison, { wholeAt: null, problem: 'It could not be made.' }).catch(() => undefined);
      throw error;
    }
  }

  #end(comparison: Comparison, end: Parameters<typeof endComparison>[2]): Promise<void> {
    return this.#parts.db.transaction({ name: 'end comparison', isolation: 'read committed' }, (tx) =>
      endComparison(tx, comparison, end),
    );
  }

  async #compareAndRepair(comparison: Comparison): Promise<ComparisonReport> {
    const { clock, log } = this.#parts;
    const startMs = clock.monotonicMs();
    const { clusterId } = comparison;
    const result = await lookAt(this.#look, comparison);
    if (result === null) return { clusterId, outcome: 'gone', repairs: [], reaped: [] };
    const { isDone, repairs } = await this.#repairAll(comparison, result);
    await this.#noteAddresses(result);
    const reapable = await this.#noteStrays(comparison, result);
    const outcome = result.problem !== null ? 'unanswered' : isDone ? 'whole' : 'partly';
    await this.#end(comparison, {
      wholeAt: outcome === 'whole' ? result.scene.now : null,
      problem:
        outcome === 'partly'
          ? 'Not all that was found is written down.'
          : (result.problem?.slice(0, 1_000) ?? null),
    });
    comparisons.add(1, { outcome });
    // After the end: an engine that takes its time to remove them keeps nobody from comparing.
    const reaped: Stray[] = [];
    for (const stray of reapable) if (await this.#reap(clusterId, stray)) reaped.push(stray);
    compareSeconds.record(msToSeconds(clock.monotonicMs() - startMs), { driver: result.cluster.driver });
    if (repairs.length > 0 || reaped.length > 0) {
      log.info(
        { clusterId, cluster: result.cluster.name, ...tally(repairs), reaped: reaped.length },
        'rentals were repaired',
      );
    }
    return { clusterId, outcome, repairs, reaped };
  }

  /** One transaction for each rental. False: something is left, so the last whole comparison stays what it was. */
  async #repairAll(
    comparison: Comparison,
    { cluster, findings, scene, isUnsettled }: LookResult,
  ): Promise<{ readonly isDone: boolean; readonly repairs: readonly Repair[] }> {
    const { clock, log } = this.#parts;
    if (scene.isVanishingHeld) {
      log.error(
        { clusterId: cluster.id, cluster: cluster.name },
        'an engine says that it has lost so many machines at once that it is not believed yet',
      );
    }
    const repairs: Repair[] = [];
    let isDone = !isUnsettled;
    const untilMs = clock.monotonicMs() + this.#look.policy.repairsMs;
    await inTurns(findings, REPAIRS_AT_ONCE, async (finding) => {
      if (clock.monotonicMs() > untilMs) {
        isDone = false;
        return;
      }
      try {
        const done = await this.#repair(comparison, finding, scene);
        if (done === 'overtaken') isDone = false;
        else repairs.push(...done);
      } catch (error) {
        isDone = false;
        log.warn({ err: error, rentalId: finding.rentalId }, 'a rental could not be repaired yet');
      }
    });
    for (const repair of repairs) {
      const kind = kindOf(repair);
      if (kind !== null) repairsDone.add(1, { kind });
    }
    return { isDone, repairs };
  }

  /** What cannot be written now is found again. */
  async #noteAddresses({ addresses }: LookResult): Promise<void> {
    const { db, log } = this.#parts;
    await inTurns(addresses, REPAIRS_AT_ONCE, async (found) => {
      try {
        await db.transaction({ name: 'note address', isolation: 'read committed' }, (tx) =>
          noteAddress(tx, found),
        );
      } catch (error) {
        log.warn(
          { err: error, rentalId: found.rentalId },
          'the address of a machine could not be written down',
        );
      }
    });
  }

  #repair(comparison: Comparison, finding: Finding, scene: Scene): Promise<readonly Repair[] | 'overtaken'> {
    return this.#parts.db.transaction({ name: 'repair rental', isolation: 'read committed' }, (tx) =>
      repairRental(tx, comparison, finding, scene),
    );
  }

  /** Remembers strays, and answers those that are to be removed now. */
  async #noteStrays(
    comparison: Comparison,
    { cluster, strays: plan }: LookResult,
  ): Promise<readonly Stray[]> {
    if (plan === null) return [];
    const { db, log } = this.#parts;
    const about = { clusterId: cluster.id, cluster: cluster.name };
    heldGauge.record(plan.isPersonNeeded ? plan.held.length : 0, { cluster: cluster.name });
    if (plan.misplaced.length > 0) {
      const some = plan.misplaced.slice(0, 20).map(({ externalId, nodeName }) => ({ externalId, nodeName }));
      log.error(
        { ...about, machines: some },
        'machines of rentals are on another cluster than their rows say',
      );
    }
    if (plan.isPersonNeeded) {
      const some = plan.held.slice(0, 20).map(({ externalId, nodeName }) => ({ externalId, nodeName }));
      log.error(
        { ...about, count: plan.held.length, machines: some },
        'more machines that no rental knows than are removed unasked: a person must decide',
      );
    }
    if (plan.fresh.length === 0 && plan.forget.length === 0 && plan.reap.length === 0) return [];
    const isCurrent = await db.transaction(
      { name: 'note strays', isolation: 'read committed' },
      async (tx) => {
        if (!(await isNewest(tx, comparison))) return false;
        await rememberStrays(tx, cluster, plan.fresh);
        await forgetStrays(tx, cluster.id, plan.forget);
        return true;
      },
    );
    if (plan.fresh.length > 0) {
      const some = plan.fresh.slice(0, 20).map(({ externalId, nodeName }) => ({ externalId, nodeName }));
      log.warn({ ...about, count: plan.fresh.length, machines: some }, 'machines that no rental knows');
    }
    return isCurrent ? plan.reap : [];
  }

  /** Access first, as with every machine. That it is gone the next comparison sees. */
  async #reap(clusterId: ClusterId, stray: Stray): Promise<boolean> {
    const { db, clock, log, drivers } = this.#parts;
    const { callTimeoutMs } = this.#look.policy;
    // Nobody may have begun to know it since the list was made.
    if ((await findElsewhere(db, [stray.externalId])).get(stray.externalId)?.isLive === true) return false;
    const about = { clusterId, externalId: stray.externalId, nodeName: stray.nodeName };
    let problem: string | null = null;
    try {
      const driver = await drivers(clusterId);
      const call = (what: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> =>
        withDeadline(clock, what, callTimeoutMs, work);
      await call('Cutting access', (signal) => driver.cutAccess(stray, signal));
      await call('Removing a machine', (signal) => driver.terminate(stray, signal));
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
      const suspicion = { why: problem, actor: reconcilerActor };
      if (isDriverError(error, 'unclean')) await quarantineUncleanNamed(db, about, suspicion);
    }
    await db.transaction({ name: 'note reaping', isolation: 'read committed' }, (tx) =>
      noteReaping(tx, clusterId, stray, problem?.slice(0, 2_000) ?? null),
    );
    if (problem === null) {
      repairsDone.add(1, { kind: 'orphan' });
      log.warn(about, 'a machine that no rental knows was removed');
      return true;
    }
    const begunMs = stray.reapBegunAt?.getTime() ?? clock.nowMs();
    const isLate = clock.nowMs() - begunMs > REAP_LATE_MS;
    log[isLate ? 'error' : 'warn'](
      { ...about, problem },
      'a machine that no rental knows could not be removed yet',
    );
    return false;
  }

  async #recordAges(): Promise<void> {
    const { db, clock } = this.#parts;
    for (const { clusterName, wholeAt } of await readComparisonAges(db, CLUSTERS_TOLD)) {
      const ageMs = wholeAt === null ? 0 : Math.max(0, clock.nowMs() - wholeAt.getTime());
      ageGauge.record(msToSeconds(ageMs), { cluster: clusterName });
    }
  }
}

function tally(repairs: readonly Repair[]): Readonly<Record<string, number>> {
  const kinds = Map.groupBy(repairs, (repair) => kindOf(repair) ?? 'noted');
  return Object.fromEntries([...kinds].map(([kind, all]) => [kind, all.length]));
}
