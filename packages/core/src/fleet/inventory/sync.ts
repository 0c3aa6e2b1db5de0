import type { EngineEvent } from '@millrace/compute';
import { withDeadline, type Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { ClusterId } from '@millrace/platform/ids';
import { startLoop, type Loop } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import { floorDivide, msToSeconds } from '@millrace/platform/money';
import { counter, histogram } from '@millrace/platform/telemetry';
import { countClusters, findCluster } from './clusters.store.ts';
import type { ClusterRecord } from './clusters.ts';
import type { DriverPool } from './driver-pool.ts';
import {
  registerObserver,
  heartbeatAll,
  claimClusters,
  releaseClusters,
  unregisterObserver,
} from './cluster-observation.store.ts';
import { defaultObserverTuning, type ObserverTuning } from './cluster-observation.ts';
import {
  applyInventory,
  applyNoResponse,
  type PollTerms,
  type LeaseLostResult,
  type InventoryResult,
  type NoResponseResult,
} from './sync.service.ts';

const reads = counter('millrace_fleet_reads_total');
const readSeconds = histogram('millrace_fleet_read_seconds');
const applySeconds = histogram('millrace_fleet_apply_seconds');

export interface FleetSyncDeps {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Identifies this run of the process among the observers. */
  readonly holder: string;
  readonly drivers: Pick<DriverPool, 'of' | 'renew'>;
  /** Called for engine events about a machine; null if events may have been missed. */
  readonly onMachine?: (clusterId: ClusterId, externalId: string | null) => void;
  readonly tuning?: Partial<ObserverTuning>;
}

export type PollResult = InventoryResult | NoResponseResult | LeaseLostResult;

/** Polls this process's share of the clusters and stores their inventories. Several processes may run it. */
export class FleetSync {
  readonly #deps: FleetSyncDeps;
  readonly #tuning: ObserverTuning;
  readonly #watchers = new Map<ClusterId, ClusterPoller>();
  #beating: Loop | null = null;

  constructor(deps: FleetSyncDeps) {
    this.#deps = deps;
    this.#tuning = { ...defaultObserverTuning, ...deps.tuning };
  }

  /** Starts polling in the background. Returns at once; unreachable engines are retried. */
  start(): void {
    const { clock, log } = this.#deps;
    const { heartbeatMs } = this.#tuning;
    this.#beating ??= startLoop(
      { name: 'watch clusters', clock, log, idleMs: heartbeatMs, maxBackoffMs: heartbeatMs },
      async () => {
        await this.tick();
        return 'idle';
      },
    );
  }

  /** Stops all polls and releases the clusters to other observers. */
  async stop(): Promise<void> {
    await this.#beating?.stop();
    await Promise.all([...this.#watchers.values()].map((watcher) => watcher.stop()));
    this.#watchers.clear();
    const { db, holder } = this.#deps;
    await db.transaction({ name: 'retire observer', isolation: 'read committed' }, (tx) =>
      unregisterObserver(tx, holder),
    );
  }

  /** Writes one heartbeat, and claims or releases clusters so that each observer has an equal share. */
  async tick(): Promise<readonly ClusterId[]> {
    const { db, holder } = this.#deps;
    const { leaseMs, heartbeatMs } = this.#tuning;
    this.#giveUpStuck();
    const held = await db.transaction({ name: 'watch clusters', isolation: 'read committed' }, async (tx) => {
      const now = tx.clock.now();
      const terms = { holder, now, leaseMs, heartbeatMs };
      const observers = await registerObserver(tx, { holder, now, ttlMs: leaseMs });
      const mine = await heartbeatAll(tx, terms);
      const share = floorDivide(await countClusters(tx), observers);
      await releaseClusters(tx, holder, mine.slice(share));
      const claimed = await claimClusters(tx, terms, share - mine.length);
      return [...mine.slice(0, share), ...claimed];
    });
    this.#hold(held);
    return held;
  }

  /** Polls one cluster that this observer has leased. */
  look(id: ClusterId): Promise<PollResult> {
    return this.#watcherOf(id).look();
  }

  #hold(held: readonly ClusterId[]): void {
    const heldIds = new Set(held);
    this.#giveUp([...this.#watchers.keys()].filter((id) => !heldIds.has(id)));
    if (this.#beating !== null) for (const id of held) this.#watcherOf(id).start();
  }

  /** Renews the drivers too, because a driver may cause a call that never ends. */
  #giveUpStuck(): void {
    const stuck = [...this.#watchers].filter(([, watcher]) => watcher.isStuck()).map(([id]) => id);
    this.#giveUp(stuck);
    for (const id of stuck) this.#deps.drivers.renew(id);
  }

  /** Does not wait: a poll may never end, and its writes are refused once the lease is lost. */
  #giveUp(ids: readonly ClusterId[]): void {
    for (const id of ids) {
      const watcher = this.#watchers.get(id);
      this.#watchers.delete(id);
      watcher?.stop().catch((error: unknown) => {
        this.#deps.log.warn({ err: error, clusterId: id }, 'cluster poller failed while stopping');
      });
    }
  }

  #watcherOf(id: ClusterId): ClusterPoller {
    const known = this.#watchers.get(id);
    if (known !== undefined) return known;
    const watcher = new ClusterPoller(id, this.#deps, this.#tuning);
    this.#watchers.set(id, watcher);
    return watcher;
  }
}

/** Polls one cluster at an interval, and at once after its engine reports a change. */
class ClusterPoller {
  readonly #id: ClusterId;
  readonly #deps: FleetSyncDeps;
  readonly #tuning: ObserverTuning;
  #looking: Loop | null = null;
  #listening: Loop | null = null;
  #nextReadMs = 0;
  #lookingSinceMs: number | null = null;
  #cancelHint: (() => void) | null = null;

  constructor(id: ClusterId, deps: FleetSyncDeps, tuning: ObserverTuning) {
    this.#id = id;
    this.#deps = deps;
    this.#tuning = tuning;
  }

  start(): void {
    if (this.#looking !== null) return;
    const { clock, log } = this.#deps;
    const { retryMs } = this.#tuning;
    const options = { clock, log, idleMs: retryMs, maxBackoffMs: retryMs };
    this.#looking = startLoop({ ...options, name: 'read cluster' }, async () => {
      if (clock.monotonicMs() >= this.#nextReadMs) await this.look();
      return 'idle';
    });
    this.#listening = startLoop({ ...options, name: 'listen to cluster' }, async (signal) => {
      await this.#listen(signal);
      return 'idle';
    });
  }

  async stop(): Promise<void> {
    this.#cancelHint?.();
    await Promise.all([this.#looking?.stop(), this.#listening?.stop()]);
  }

  /** Heartbeats claim that the cluster is polled, so a poll that does not end must be abandoned. */
  isStuck(): boolean {
    const sinceMs = this.#lookingSinceMs;
    return sinceMs !== null && this.#deps.clock.monotonicMs() - sinceMs > this.#tuning.lookTimeoutMs;
  }

  async look(): Promise<PollResult> {
    this.#lookingSinceMs = this.#deps.clock.monotonicMs();
    try {
      return await this.#look();
    } finally {
      this.#lookingSinceMs = null;
    }
  }

  async #look(): Promise<PollResult> {
    const { db, clock } = this.#deps;
    const cluster = await findCluster(db, this.#id);
    if (cluster === null || cluster.status === 'removed') return { outcome: 'lost' };
    const report = await this.#readAndApply(cluster);
    const { readEveryMs } = this.#tuning;
    this.#nextReadMs = report.outcome === 'read' ? clock.monotonicMs() + readEveryMs : 0;
    // The driver's cached state may be the cause; a new driver also reads the credentials again.
    if (report.outcome === 'silent') this.#deps.drivers.renew(cluster.id);
    this.#notify(cluster, report);
    return report;
  }

  async #readAndApply(cluster: ClusterRecord): Promise<PollResult> {
    const { db, clock, log, holder, drivers } = this.#deps;
    const { leaseMs, heartbeatMs, silentMs, readTimeoutMs } = this.#tuning;
    const terms: PollTerms = { holder, leaseMs, heartbeatMs, silentMs };
    const startMs = clock.monotonicMs();
    const read = await withDeadline(clock, 'Reading the inventory', readTimeoutMs, async (signal) => {
      const driver = await drivers.of(cluster.id);
      return driver.readInventory(signal);
    }).catch((error: unknown) => ({ failed: error }));
    if ('failed' in read) return applyNoResponse(db, cluster.id, messageOf(read.failed), terms);
    const readMs = clock.monotonicMs();
    readSeconds.record(msToSeconds(readMs - startMs), { driver: cluster.driver });
    const report = await applyInventory(db, cluster, read, terms).catch((error: unknown) => {
      // A failed write counts as no response. If the database is down, this call fails too.
      log.error({ err: error, clusterId: cluster.id }, 'failed to store the inventory of a cluster');
      const problem = `The inventory could not be stored: ${messageOf(error)}`;
      return applyNoResponse(db, cluster.id, problem, terms);
    });
    applySeconds.record(msToSeconds(clock.monotonicMs() - readMs), { driver: cluster.driver });
    return report;
  }

  /** Follows the engine's events until the stream ends. The next read finds missed changes. */
  async #listen(signal: AbortSignal): Promise<void> {
    // The poll reports a failed connection, so it is not logged here.
    const driver = await this.#deps.drivers.of(this.#id).catch(() => null);
    if (driver === null || !driver.can.events || signal.aborted) return;
    try {
      for await (const event of driver.events(signal)) this.#handle(event);
    } finally {
      if (!signal.aborted) {
        this.#hint();
        this.#deps.onMachine?.(this.#id, null);
      }
    }
  }

  #handle(event: EngineEvent): void {
    if (event.kind === 'node') this.#hint();
    else this.#deps.onMachine?.(this.#id, event.externalId);
  }

  /** Combines events within `hintDelayMs` into one read. */
  #hint(): void {
    if (this.#cancelHint !== null) return;
    this.#cancelHint = this.#deps.clock.after(this.#tuning.hintDelayMs, () => {
      this.#cancelHint = null;
      this.#nextReadMs = 0;
      this.#looking?.wake();
    });
  }

  #notify(cluster: ClusterRecord, report: PollResult): void {
    const { log } = this.#deps;
    reads.add(1, { outcome: report.outcome });
    const about = { clusterId: cluster.id, cluster: cluster.name };
    if (report.outcome === 'silent') log.error({ ...about, problem: report.problem }, 'cluster is silent');
    if (report.outcome !== 'read') return;
    if (report.unnamed > 0)
      log.warn({ ...about, nodes: report.unnamed }, 'skipped nodes with an invalid name');
    if (report.connected) log.info({ ...about, newNodes: report.newNodes }, 'cluster is connected');
    const bad = report.moves.filter(({ to }) => to === 'node_offline' || to === 'node_quarantined');
    if (bad.length > 0) {
      const some = bad.slice(0, 20).map(({ nodeId, to, reason }) => ({ nodeId, to, reason }));
      log.warn({ ...about, count: bad.length, nodes: some }, 'nodes became offline or quarantined');
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
