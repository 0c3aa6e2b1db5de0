import { machineStateNames } from '@millrace/contract';
import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { startLoop, type Loop } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import { msToSeconds } from '@millrace/platform/money';
import { gauge } from '@millrace/platform/telemetry';
import { countGpus, countNodes, countOverdueDrains } from './fleet-metrics.store.ts';
import { listObservations } from '../inventory/cluster-observation.store.ts';

const nodesGauge = gauge('millrace_fleet_nodes', 'Nodes by status');
const gpusGauge = gauge('millrace_fleet_gpus', 'GPUs that are present, by region, type and mode');
const freeGauge = gauge('millrace_fleet_gpus_free', 'GPUs that can be sold now, by region, type and mode');
const overdueGauge = gauge(
  'millrace_fleet_drains_overdue',
  'Draining nodes that still have allocations after the deadline of the drain',
);
const readAgeGauge = gauge(
  'millrace_fleet_read_age_seconds',
  'Time since the inventory of a cluster was last read, for the clusters with the longest time',
);

/** Bounds the label values: beyond this number only the clusters with the oldest reads are shown. */
const CLUSTER_LABELS_MAX = 200;

/**
 * Records metrics of the whole fleet. Every worker records the same values, so alerts take the maximum and one failed
 * worker does not hide the fleet.
 */
export class FleetMetrics {
  readonly #db: Db;
  /** Recorded before: a label set that disappears is recorded as 0, or its last value would stay. */
  readonly #gpuKinds = new Map<string, { region: string; gpuType: string; mode: string }>();
  #clusters = new Set<string>();

  constructor(db: Db) {
    this.#db = db;
  }

  async record(): Promise<void> {
    const nodes = await countNodes(this.#db, null);
    for (const status of machineStateNames) nodesGauge.record(nodes.get(status) ?? 0, { status });
    overdueGauge.record(await countOverdueDrains(this.#db, this.#db.clock.now()));
    await this.#recordGpus();
    await this.#recordAges();
  }

  async #recordGpus(): Promise<void> {
    const figures = new Map(
      (await countGpus(this.#db)).map(({ region, gpuType, mode, total, free }) => {
        const kind = { region, gpuType, mode };
        return [JSON.stringify(kind), { kind, total, free }];
      }),
    );
    for (const [key, { kind }] of figures) this.#gpuKinds.set(key, kind);
    for (const [key, { region, gpuType, mode }] of this.#gpuKinds) {
      const attributes = { region, gpu_type: gpuType, mode };
      gpusGauge.record(figures.get(key)?.total ?? 0, attributes);
      freeGauge.record(figures.get(key)?.free ?? 0, attributes);
    }
  }

  async #recordAges(): Promise<void> {
    const nowMs = this.#db.clock.nowMs();
    const watches = await listObservations(this.#db, CLUSTER_LABELS_MAX);
    const reported = new Set(watches.map(({ clusterName }) => clusterName));
    for (const { clusterName, lastSeenAt } of watches) {
      const ageMs = lastSeenAt === null ? 0 : Math.max(0, nowMs - lastSeenAt.getTime());
      readAgeGauge.record(msToSeconds(ageMs), { cluster: clusterName });
    }
    for (const clusterName of this.#clusters) {
      if (!reported.has(clusterName)) readAgeGauge.record(0, { cluster: clusterName });
    }
    this.#clusters = reported;
  }
}

export function startFleetMetrics(deps: {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'warn'>;
  readonly everyMs: number;
}): Loop {
  const { db, clock, log, everyMs } = deps;
  const figures = new FleetMetrics(db);
  return startLoop(
    { name: 'tell fleet figures', clock, log, idleMs: everyMs, maxBackoffMs: everyMs },
    async () => {
      await figures.record();
      return 'idle';
    },
  );
}
