import { machineStateNames } from '@millrace/contract';
import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { startLoop, type Loop } from '@millrace/platform/lifecycle';
import type { Mode } from '@millrace/platform/envelope';
import type { Logger } from '@millrace/platform/log';
import { msToSeconds } from '@millrace/platform/money';
import { gauge } from '@millrace/platform/telemetry';
import { countGpus, countNodes, countOverdueDrains } from './fleet-metrics.store.ts';
import { listObservations } from '../inventory/cluster-observation.store.ts';

const nodesGauge = gauge('millrace_fleet_nodes');
const gpusGauge = gauge('millrace_fleet_gpus');
const freeGauge = gauge('millrace_fleet_gpus_free');
const soldGauge = gauge('millrace_fleet_gpus_sold');
const faultyGauge = gauge('millrace_fleet_gpus_faulty');
const overdueGauge = gauge('millrace_fleet_drains_overdue');
const readAgeGauge = gauge('millrace_fleet_read_age_seconds');

/** Bounds the label values: beyond this number only the clusters with the oldest reads are shown. */
const CLUSTER_LABELS_MAX = 200;

/**
 * Records metrics of the whole fleet. Every worker records the same values, so alerts take the maximum and one failed
 * worker does not hide the fleet.
 */
export class FleetMetrics {
  readonly #db: Db;
  /** Recorded before: a label set that disappears is recorded as 0, or its last value would stay. */
  readonly #gpuKinds = new Map<string, { region: string; gpuType: string; mode: Mode }>();
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
      (await countGpus(this.#db)).map(({ region, gpuType, mode, ...counts }) => {
        const kind = { region, gpuType, mode };
        return [JSON.stringify(kind), { kind, ...counts }];
      }),
    );
    for (const [key, { kind }] of figures) this.#gpuKinds.set(key, kind);
    for (const [key, { region, gpuType, mode }] of this.#gpuKinds) {
      const attributes = { region, gpu_type: gpuType, mode };
      const { total = 0, free = 0, allocated = 0, faulty = 0 } = figures.get(key) ?? {};
      gpusGauge.record(total, attributes);
      freeGauge.record(free, attributes);
      soldGauge.record(allocated, attributes);
      faultyGauge.record(faulty, attributes);
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
