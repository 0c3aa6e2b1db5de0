import {
  executeIdleRule,
  executeRequiredActions,
  consoleSubject,
  createRentalRecovery,
  createRentalWorkflow,
  defaultRentalPolicy,
  deleteOldConsoles,
  expireSamples,
  enqueueDueRentals,
  InventoryReconciler,
  sampleDueShards,
  serveConsoles,
} from '@millrace/core/rentals';
import { systemClock } from '@millrace/platform/clock';
import type { ClusterId } from '@millrace/platform/ids';
import { createSealer } from '@millrace/platform/secrets';
import type { WorkerConfig } from './config.ts';
import type { WorkerDeps } from './worker-deps.ts';
import { createCreditRecall } from './credit-leases.ts';

export type RentalDeps = Omit<WorkerDeps, 'valkey'>;

export interface Rentals {
  /** The Restate object that reconciles one rental at a time. */
  readonly workflow: ReturnType<typeof createRentalWorkflow>;
  /** Called when an engine reports a change of a machine in this cluster. */
  onMachine(clusterId: ClusterId): void;
}

/** Maximum delay of due actions (term ends, TTLs) and of lost calls. */
const RECONCILE_DUE_EVERY_MS = 1_000;
const RECONCILE_DUE_BATCH = 200;
/** Workers reconcile rentals themselves if no Restate handler responds. */
const RECOVERY_EVERY_MS = 1_000;
/** Required actions are repeated until they have taken effect. */
const REQUIRED_EVERY_MS = 2_000;
const REQUIRED_BATCH = 100;
/** Maximum delay of a sample; the policy sets the interval. */
const SAMPLES_POLL_MS = 3_000;
const SAMPLE_RETENTION_EVERY_MS = 10 * 60_000;

/** Starts reconciling, monitoring and recovery of rentals. */
export function startRentals(config: WorkerConfig, deps: RentalDeps): Rentals {
  const { db, nats, guard, startLoop, lifecycle, log, holder } = deps;
  const clock = systemClock;
  const { sealingKeys, activeSealingKey } = config.secrets;
  const sealer = createSealer({ keys: sealingKeys, activeId: activeSealingKey });
  const drivers = (clusterId: ClusterId) => deps.drivers.of(clusterId);
  const loop = (name: string, idleMs: number, step: Parameters<WorkerDeps['startLoop']>[1]): void => {
    const started = startLoop({ name, clock, log, idleMs, maxBackoffMs: idleMs }, step);
    lifecycle.onDrain('consumers', name, () => started.stop());
  };
  loop('call for due rentals', RECONCILE_DUE_EVERY_MS, async () =>
    (await enqueueDueRentals(db, RECONCILE_DUE_BATCH, { log })) >= RECONCILE_DUE_BATCH ? 'busy' : 'idle',
  );
  const hold = { isHeld: () => !guard.isOpen(), heldUntil: () => guard.heldUntil() };
  const recallMoney = createCreditRecall(config, nats);
  const reconcileDeps = {
    db,
    clock,
    log,
    drivers,
    sealer,
    policy: defaultRentalPolicy,
    hold,
    recallMoney,
    unfundedSince: new Map(),
  };
  const recovery = createRentalRecovery(reconcileDeps);
  loop('recover stuck rentals', RECOVERY_EVERY_MS, async (signal) => {
    await recovery.recover(signal);
    return 'idle';
  });
  loop('carry out what balances require', REQUIRED_EVERY_MS, async () =>
    (await executeRequiredActions(db, { log, limit: REQUIRED_BATCH })) >= REQUIRED_BATCH ? 'busy' : 'idle',
  );
  loop('sample machines', SAMPLES_POLL_MS, (signal) =>
    sampleDueShards({ db, clock, log, drivers, onIdle: (rental) => executeIdleRule(db, rental) }, signal),
  );
  loop('forget samples and consoles', SAMPLE_RETENTION_EVERY_MS, async () => {
    await expireSamples(db);
    await deleteOldConsoles(db);
    return 'idle';
  });
  const reconciler = new InventoryReconciler({
    ...{ db, clock, log, holder, drivers },
    mayRemove: () => guard.isOpen(),
    mayHaveLostRow: (machine) => guard.mayHaveLostRow(machine),
  });
  reconciler.start();
  lifecycle.onDrain('consumers', 'reconciler', () => reconciler.stop());
  const subject = consoleSubject(config.nats.prefix, config.cell.id);
  const consoles = serveConsoles({ db, clock, log, drivers, nats, subject });
  lifecycle.onDrain('consumers', 'consoles', () => consoles.stop());
  return {
    workflow: createRentalWorkflow(reconcileDeps),
    onMachine: (clusterId) => reconciler.hint(clusterId),
  };
}
