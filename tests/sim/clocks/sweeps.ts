import {
  deleteOldReliabilityDays,
  quarantineFaultyMachines,
  measureMachines,
} from '../../../packages/core/src/suppliers/reliability/reliability.service.ts';
import { reconcileDueVolumes } from '../../../packages/core/src/volumes/reconcile/reconcile-volume.ts';
import { reconcileRental } from '../../../packages/core/src/rentals/reconcile/reconcile-rental.ts';
import { reconcileDepsOf } from '../../../packages/core/src/rentals/reconcile/reconcile.fixture.ts';
import {
  createCreditLeaseSweeps,
  type CreditLeaseSweeps,
} from '../../../packages/core/src/credit-leases/lender/leases.sweeps.ts';
import { deleteExpiredAuthRows } from '../../../packages/platform/src/auth/users.store.ts';
import { sweepMaintenance } from '@millrace/core/fleet';
import { createKeyExpiry, sweepDueKeys } from '@millrace/core/identity';
import { maintainUsageTables } from '@millrace/core/inference';
import { makeDueInvoices } from '@millrace/core/invoices';
import { expirePromos } from '@millrace/core/ledger';
import { readBurnRate, sweepDueShards } from '@millrace/core/metering';
import { Payments } from '@millrace/core/payments';
import {
  executeIdleRule,
  executeRequiredActions,
  createRentalRecovery,
  deleteOldConsoles,
  expireSamples,
  enqueueDueRentals,
  InventoryReconciler,
  sampleDueShards,
} from '@millrace/core/rentals';
import { writeDueStatements } from '@millrace/core/suppliers';
import { freezeUnpaid, checkDueNodes } from '@millrace/core/volumes';
import { cleanUpWebhooks } from '@millrace/core/webhooks';
import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { deleteExpiredOperations } from '@millrace/platform/http';
import { createLogger } from '@millrace/platform/log';
import type { ClockHarness } from './harness.ts';

const log = createLogger({ name: 'clocks', level: 'silent' });
const never = new AbortController().signal;
const LIMIT = 500;
const ROUNDS_MAX = 50;

/** One iteration of a worker or api loop. `db` is the database of the rentals. */
export type Sweep = (harness: ClockHarness, db: Db) => Promise<unknown>;

const keys = createKeyExpiry({ announce: () => undefined });
const inTransaction = (db: Db, name: string, work: Parameters<Db['transaction']>[1]): Promise<unknown> =>
  db.transaction({ name, isolation: 'read committed' }, work);
const leaseSweepsOf = (harness: ClockHarness, db: Db): CreditLeaseSweeps =>
  createCreditLeaseSweeps({
    ...{ db, log, cell: 1, service: harness.leaseService, rules: harness.leaseRules },
    publishEnd: async () => undefined,
  });
/** Volumes are in a second database; it uses the same kind of clock as `db`. */
const volumesOf = (harness: ClockHarness, db: Db) => ({
  ...harness.volumes.deps,
  ...(db === harness.rentals.db ? {} : { db: harness.atProcessTime(harness.volumes.db) }),
});

export const sweeps: Readonly<Record<string, Sweep>> = {
  'close due api keys': (_, db) => sweepDueKeys(db, { keys, limit: LIMIT, log }),
  'ask about undecided payments': (_, db) =>
    new Payments({
      ...{ db, clock: systemClock, log, consoleUrl: 'https://console.example.com', burnOf: readBurnRate },
      stripe: {
        live: true,
        openCheckout: () => Promise.reject(new Error('The payment provider is unavailable.')),
        readCheckout: () => Promise.reject(new Error('The payment provider is unavailable.')),
        listPaid: async () => [],
        verify: () => null,
      },
    }).checkDue(LIMIT),
  // everyMs: 0 also sweeps shards that were swept at this instant.
  'post meters': async (harness, db) => {
    await sweepDueShards(db, { log, everyMs: 0, limit: LIMIT });
    await sweepDueShards(volumesOf(harness, db).db, { log, everyMs: 0, limit: LIMIT });
  },
  'keep maintenance windows': (_, db) => sweepMaintenance(db, { log }),
  'take expired promotional credit': (_, db) => expirePromos(db, { log, limit: LIMIT }),
  'write statements of suppliers': (_, db) => writeDueStatements(db, { log, limit: LIMIT }),
  'make invoices': async (_, db) => {
    while ((await makeDueInvoices(db, { log, limit: LIMIT, issuer: 'Example Cloud' })) > 0);
  },
  'forget idempotency keys': (_, db) =>
    inTransaction(db, 'forget idempotency keys', (tx) => deleteExpiredOperations(tx, LIMIT)),
  'expired sessions': (_, db) =>
    inTransaction(db, 'forget expired sign-ins', (tx) => deleteExpiredAuthRows(tx, LIMIT)),
  'call for due rentals': (_, db) => enqueueDueRentals(db, LIMIT, { log }),
  'recover stuck rentals': async (harness, db) => {
    const deps = { ...reconcileDepsOf(harness.rentals), db };
    await createRentalRecovery(deps).recover(never);
    // In production the workflow does this.
    for (const { orgId, id } of await harness.liveRentals()) {
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        if ((await reconcileRental(deps, orgId, id, never)).kind !== 'again') break;
      }
    }
  },
  'carry out what balances require': (_, db) => executeRequiredActions(db, { log, limit: LIMIT }),
  'repair late rentals': (harness, db) =>
    new InventoryReconciler({
      ...{ db, clock: systemClock, log, holder: 'clocks', drivers: harness.rentals.drivers },
    }).repairLate(),
  'sample machines': (harness, db) => {
    const onIdle: Parameters<typeof sampleDueShards>[0]['onIdle'] = (rental) => executeIdleRule(db, rental);
    return sampleDueShards({ db, clock: systemClock, log, drivers: harness.rentals.drivers, onIdle }, never);
  },
  'forget samples and consoles': async (_, db) => {
    await expireSamples(db);
    await deleteOldConsoles(db);
  },
  'look at storage nodes': (harness, db) => checkDueNodes(volumesOf(harness, db), never),
  'bring volumes about': async (harness, db) => {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      if ((await reconcileDueVolumes(volumesOf(harness, db), LIMIT, never)) === 0) break;
    }
  },
  'freeze unpaid volumes': (harness, db) => freezeUnpaid(volumesOf(harness, db).db, { log, limit: LIMIT }),
  'call in leases of pots': (harness, db) => leaseSweepsOf(harness, db).callIn(),
  'close leases of pots': (harness, db) => leaseSweepsOf(harness, db).closePassed(),
  'give up silent gateways': (harness, db) => leaseSweepsOf(harness, db).endDead(),
  'settle ended gateways': (harness, db) => leaseSweepsOf(harness, db).settleDead(),
  'tidy webhooks': (_, db) => cleanUpWebhooks(db, LIMIT),
  'measure machines of suppliers': (_, db) => measureMachines({ db, clock: systemClock, log }, LIMIT),
  'judge machines of suppliers': (_, db) => quarantineFaultyMachines({ db, clock: systemClock, log }),
  'forget days of machines': (_, db) => deleteOldReliabilityDays({ db }, LIMIT),
  'keep the usage tables': (_, db) => maintainUsageTables(db),
};
