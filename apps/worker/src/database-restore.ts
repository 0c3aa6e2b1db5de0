import { DriverError, type ComputeDriver } from '@millrace/compute';
import { eventChannels, findLostEvents, storeLostEvents } from '@millrace/core/events';
import { quarantineNodeWithUnknownMachine, type DriverPool } from '@millrace/core/fleet';
import { findLaterUsage, usageSubjects } from '@millrace/core/inference';
import { listUncreditedPayments, type StripeGateway } from '@millrace/core/payments';
import {
  startClosingAllLeases,
  leaseRules,
  listUnrecordedLeases,
  stopAdmission,
} from '@millrace/core/credit-leases';
import { dryRun } from '@millrace/core/rentals';
import {
  confirmRestore,
  createRestoreGuard,
  buildRestoreReport,
  createNatsMarkStore,
  readCounters,
  saveRestoreReport,
  createValkeyMarkStore,
  type ReportSources,
  type RestoreGuard,
  type RestoreState,
} from '@millrace/core/restore';
import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { parseId } from '@millrace/platform/ids';
import type { WorkerConfig } from './config.ts';
import type { WorkerDeps } from './worker-deps.ts';
import { waitForConnection } from './wait-for-nats.ts';

export type RestoreDeps = Pick<WorkerDeps, 'db' | 'nats' | 'valkey' | 'lifecycle' | 'log'>;

/** Connections that are created after the guard, because they need it. */
export interface RestoreSources {
  /** Drivers without the guard, because the report only reads. */
  readonly drivers: DriverPool;
  readonly stripe: StripeGateway | null;
}

export interface RestoreMonitor {
  readonly guard: RestoreGuard;
  /** Starts the comparison, which runs every second. */
  begin(sources: RestoreSources): Promise<void>;
}

const REPORT_EVERY_MS = 15_000;

/** Detects that the database was restored to an earlier point, stops harmful work, and reports newer data. */
export function createRestoreMonitor(config: WorkerConfig, deps: RestoreDeps): RestoreMonitor {
  const { db, nats, valkey, lifecycle, log } = deps;
  const { prefix, replicas } = config.nats;
  let sources: RestoreSources | null = null;
  let reportedMs = Number.NEGATIVE_INFINITY;

  async function whileRestored(state: RestoreState): Promise<void> {
    if (valkey !== null) {
      await stopAdmission(db, valkey, config.cell.id).catch((error: unknown) =>
        log.error({ err: error }, 'could not stop credit leases in Valkey after a restore; retrying'),
      );
    }
    if (sources === null) return;
    const isLate = systemClock.monotonicMs() - reportedMs > REPORT_EVERY_MS;
    if (state.status === 'restored' && (state.report === null || isLate)) {
      const report = await buildRestoreReport(
        state,
        await readCounters(db),
        sourcesOf(config, deps, sources),
      );
      await db.transaction({ name: 'save restore report', isolation: 'read committed' }, (tx) =>
        saveRestoreReport(tx, report),
      );
      reportedMs = systemClock.monotonicMs();
    }
    if (state.status === 'confirming') await confirm(config, deps);
  }

  const stores = [
    createNatsMarkStore({ nats, clock: systemClock, prefix, replicas }),
    ...(valkey === null ? [] : [createValkeyMarkStore(valkey, prefix)]),
  ];
  const guard = createRestoreGuard({ db, clock: systemClock, log, stores, whileRestored });
  // Not required for readiness: safe work continues until an operator confirms the restore.
  lifecycle.addCheck({
    name: 'newest database',
    required: false,
    check: async () => {
      if (!guard.isOpen()) throw new StaleDatabaseError(guard.reason() ?? '');
    },
  });
  return {
    guard,
    async begin(given) {
      sources = given;
      await waitForConnection(nats, lifecycle.draining);
      await guard
        .check()
        .catch((error: unknown) => log.warn({ err: error }, 'comparing the restore mark failed; retrying'));
      const loop = guard.start();
      lifecycle.onDrain('consumers', 'restore mark', () => loop.stop());
    },
  };
}

/** The readiness response shows this name. */
class StaleDatabaseError extends Error {
  override readonly name = 'RestoreUnconfirmed';
}

function sourcesOf(
  config: WorkerConfig,
  { db, nats, valkey }: RestoreDeps,
  { drivers, stripe }: RestoreSources,
): ReportSources {
  const { prefix } = config.nats;
  const cell = config.cell.id;
  const channels = eventChannels(prefix);
  return {
    leases: async () => (valkey === null ? [] : listUnrecordedLeases(db, valkey, cell)),
    machines: async () => {
      const run = await dryRun({ db, clock: systemClock, drivers: (id) => drivers.of(id) });
      const clusters = run?.clusters ?? [];
      return {
        machines: clusters.flatMap((plan) =>
          plan.strays.map(({ nodeName, externalId, orgId }) => ({
            cluster: plan.cluster,
            clusterId: plan.clusterId,
            nodeName,
            externalId,
            orgId,
          })),
        ),
        problems: clusters.flatMap(({ cluster, problem }) =>
          problem === null ? [] : [`Cluster ${cluster}: ${problem}`],
        ),
      };
    },
    payments: async (since) => (stripe === null ? [] : listUncreditedPayments(db, stripe, since)),
    events: () => findLostEvents({ db, nats, channels }),
    usage: (since) => findLaterUsage({ db, nats }, usageSubjects(prefix, cell).stream, since),
  };
}

async function confirm(config: WorkerConfig, { db, nats, log }: RestoreDeps): Promise<void> {
  const cell = config.cell.id;
  const { leaseOutageMs: outageMs, leaseLongestRequestMs: longestRequestMs } = config.worker;
  const done = await confirmRestore(db, {
    storeEvents: () => storeLostEvents({ db, nats, channels: eventChannels(config.nats.prefix) }),
    endLeases: (epochFloor) =>
      startClosingAllLeases(db, { cell, epochFloor, rules: leaseRules({ outageMs, longestRequestMs }) }),
    quarantine: (state) => quarantineNodes(db, state),
  });
  if (done) log.info({}, 'the confirmed restore is complete');
}

/** A machine without a row uses GPUs that the database considers free, so placement on its node stops. */
async function quarantineNodes(db: Db, { report }: RestoreState): Promise<void> {
  const actor = { kind: 'system', id: 'restore' } as const;
  for (const { clusterId: text, nodeName } of report?.machines ?? []) {
    const clusterId = parseId('cls', text);
    if (clusterId !== null) await quarantineNodeWithUnknownMachine(db, { clusterId, nodeName }, actor);
  }
}

const restoreHeldError = (guard: RestoreGuard): DriverError =>
  new DriverError('unavailable', guard.reason() ?? 'The database is not known to be the newest state.');

/** Drivers that create and delete no machines until the database is known to be the newest state. */
export function guardDrivers(pool: DriverPool, guard: RestoreGuard): DriverPool {
  return {
    of: async (id) => guardDriver(await pool.of(id), guard),
    renew: (id) => pool.renew(id),
    close: () => pool.close(),
  };
}

function guardDriver(driver: ComputeDriver, guard: RestoreGuard): ComputeDriver {
  const guarded: Pick<ComputeDriver, 'create' | 'cutAccess' | 'terminate'> = {
    create: async (...args) => {
      if (!guard.isOpen()) throw restoreHeldError(guard);
      return driver.create(...args);
    },
    cutAccess: async (...args) => {
      if (!guard.isOpen()) throw restoreHeldError(guard);
      return driver.cutAccess(...args);
    },
    terminate: async (...args) => {
      if (!guard.isOpen()) throw restoreHeldError(guard);
      return driver.terminate(...args);
    },
  };
  return new Proxy(driver, {
    get(target, name) {
      if (name === 'create' || name === 'cutAccess' || name === 'terminate') return guarded[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
