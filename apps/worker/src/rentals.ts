import type { DriverPool } from '@millrace/core/fleet';
import {
  carryOutIdle,
  carryOutRequired,
  consoleSubject,
  createRentalRecovery,
  createRentalWorkflow,
  defaultRentalPolicy,
  forgetOldConsoles,
  forgetOldSamples,
  redriveDue,
  RentalReconciler,
  sampleDue,
  serveConsoles,
} from '@millrace/core/rentals';
import type { RestoreGuard } from '@millrace/core/restore';
import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { ClusterId } from '@millrace/platform/ids';
import type { Lifecycle, StartLoop } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import type { EarlyNatsClient } from '@millrace/platform/nats';
import { createSealer } from '@millrace/platform/secrets';
import type { WorkerConfig } from './config.ts';
import { recallMoneyOf } from './pots.ts';

export interface RentalParts {
  readonly db: Db;
  readonly nats: EarlyNatsClient;
  readonly drivers: DriverPool;
  readonly guard: RestoreGuard;
  readonly startLoop: StartLoop;
  readonly lifecycle: Lifecycle;
  readonly log: Logger;
  /** Names this process among the workers. */
  readonly holder: string;
}

export interface Rentals {
  /** What Restate calls: works on one rental at a time. */
  readonly workflow: ReturnType<typeof createRentalWorkflow>;
  /** What is said of a machine of that cluster may concern a rental. */
  onMachine(clusterId: ClusterId): void;
}

/** What is due waits no longer than this: terms that end, times to live, and calls that got lost. */
const REDRIVE_EVERY_MS = 1_000;
const REDRIVE_BATCH = 200;
/** Rentals that no handler answers for are driven by workers themselves. */
const RECOVERY_EVERY_MS = 1_000;
/** What an empty balance asks for; each is taken up again until its effect is there. */
const REQUIRED_EVERY_MS = 2_000;
const REQUIRED_BATCH = 100;
/** How late a sample is at most; how often one is taken is the policy's. */
const SAMPLES_LOOK_MS = 3_000;
const FORGET_EVERY_MS = 10 * 60_000;

/** Brings rentals up and down, keeps them as they should be, and watches those that want it. */
export function startRentals(config: WorkerConfig, parts: RentalParts): Rentals {
  const { db, nats, guard, startLoop, lifecycle, log, holder } = parts;
  const clock = systemClock;
  const { sealingKeys, activeSealingKey } = config.secrets;
  const sealer = createSealer({ keys: sealingKeys, activeId: activeSealingKey });
  const drivers = (clusterId: ClusterId) => parts.drivers.of(clusterId);
  const loop = (
    name: string,
    idleMs: number,
    step: (signal: AbortSignal) => Promise<'busy' | 'idle'>,
  ): void => {
    const started = startLoop({ name, clock, log, idleMs, maxBackoffMs: idleMs }, step);
    lifecycle.onDrain('consumers', name, () => started.stop());
  };
  loop('call for due rentals', REDRIVE_EVERY_MS, async () =>
    (await redriveDue(db, REDRIVE_BATCH, { log })) >= REDRIVE_BATCH ? 'busy' : 'idle',
  );
  const hold = { isHeld: () => !guard.isOpen(), heldUntil: () => guard.heldUntil() };
  const recallMoney = recallMoneyOf(config, nats);
  const drive = {
    db,
    clock,
    log,
    drivers,
    sealer,
    policy: defaultRentalPolicy,
    hold,
    recallMoney,
    lackingSince: new Map(),
  };
  const recovery = createRentalRecovery(drive);
  loop('recover stuck rentals', RECOVERY_EVERY_MS, async (signal) => {
    await recovery.recover(signal);
    return 'idle';
  });
  loop('carry out what balances require', REQUIRED_EVERY_MS, async () =>
    (await carryOutRequired(db, { log, limit: REQUIRED_BATCH })) >= REQUIRED_BATCH ? 'busy' : 'idle',
  );
  loop('sample machines', SAMPLES_LOOK_MS, (signal) =>
    sampleDue({ db, clock, log, drivers, onIdle: (rental) => carryOutIdle(db, rental) }, signal),
  );
  loop('forget samples and consoles', FORGET_EVERY_MS, async () => {
    await forgetOldSamples(db);
    await forgetOldConsoles(db);
    return 'idle';
  });
  const reconciler = new RentalReconciler({
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
    workflow: createRentalWorkflow(drive),
    onMachine: (clusterId) => reconciler.hint(clusterId),
  };
}
