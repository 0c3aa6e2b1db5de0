import { connectDriver } from '@millrace/compute/connect';
import {
  applyFleetConfig,
  createDriverPool,
  FleetSync,
  startFleetMetrics,
  type DriverPool,
  type FleetSyncDeps,
} from '@millrace/core/fleet';
import { systemClock } from '@millrace/platform/clock';
import { defaultFleet } from '@millrace/platform/config';
import { createNetGuard } from '@millrace/platform/net';
import type { WorkerConfig } from './config.ts';
import type { WorkerDeps } from './worker-deps.ts';
import { retryAtStart } from './retry-at-start.ts';

const METRICS_EVERY_MS = 30_000;

/** One driver per cluster. Closed last: calls in progress fail as `unavailable`, and another worker repeats them. */
export function openDrivers(
  config: WorkerConfig,
  deps: Pick<WorkerDeps, 'db' | 'lifecycle' | 'log'>,
): DriverPool {
  const { db, lifecycle, log } = deps;
  const { credentials, allowPlaintext } = config.fleet;
  const guard = createNetGuard(config.marketplace);
  const drivers = createDriverPool({
    db,
    log,
    // This process listens at the node addresses of mock engines, so that SSH to mock machines works.
    connect: (cluster) =>
      connectDriver(cluster, {
        ...{ db, clock: systemClock, log, credentials, allowPlaintext, guard },
        opensPorts: true,
      }),
  });
  lifecycle.onDrain('pools', 'drivers', () => drivers.close());
  return drivers;
}

interface FleetDeps extends Pick<WorkerDeps, 'db' | 'lifecycle' | 'log' | 'holder' | 'drivers'> {
  readonly onMachine: NonNullable<FleetSyncDeps['onMachine']>;
}

/** Polls the clusters. An unreachable engine delays nothing else and is retried. */
export async function startFleet(config: WorkerConfig, deps: FleetDeps): Promise<void> {
  const { db, lifecycle, log, holder, drivers, onMachine } = deps;
  const providers = config.providers.list ?? config.providers.file ?? defaultFleet;
  const left = await retryAtStart('the fleet configuration', log, () => applyFleetConfig(db, providers));
  for (const { name, problem } of left) {
    log.error({ cluster: name, problem }, 'the configuration of a cluster was not applied');
  }
  const sync = new FleetSync({
    db,
    clock: systemClock,
    log,
    holder,
    drivers,
    onMachine,
    tuning: { readEveryMs: config.worker.fleetReadMs, silentMs: config.worker.fleetSilentMs },
  });
  sync.start();
  lifecycle.onDrain('consumers', 'fleet sync', () => sync.stop());
  const figures = startFleetMetrics({ db, clock: systemClock, log, everyMs: METRICS_EVERY_MS });
  lifecycle.onDrain('consumers', 'fleet figures', () => figures.stop());
}
