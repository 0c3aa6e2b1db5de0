import {
  forgetTrust,
  judgeFaults,
  measureMachines,
} from '../../../packages/core/src/suppliers/trust.service.ts';
import { convergeDue } from '../../../packages/core/src/volumes/converge.ts';
import { driveOnce } from '../../../packages/core/src/rentals/drive.ts';
import { partsOf } from '../../../packages/core/src/rentals/drive.fixture.ts';
import { createPotSweeps, type PotSweeps } from '../../../packages/core/src/pots/pots.sweeps.ts';
import { forgetExpired } from '../../../packages/platform/src/auth/people.store.ts';
import { sweepMaintenance } from '@millrace/core/fleet';
import { createApiKeyService, sweepDueKeys } from '@millrace/core/identity';
import { keepUsageTables } from '@millrace/core/inference';
import { makeDueInvoices } from '@millrace/core/invoices';
import { expirePromos } from '@millrace/core/ledger';
import { burnOf, sweepDueShards } from '@millrace/core/metering';
import { Payments } from '@millrace/core/payments';
import {
  carryOutIdle,
  carryOutRequired,
  createRentalRecovery,
  forgetOldConsoles,
  forgetOldSamples,
  redriveDue,
  RentalReconciler,
  sampleDue,
} from '@millrace/core/rentals';
import { writeDueStatements } from '@millrace/core/suppliers';
import { freezeUnpaid, lookAtNodes } from '@millrace/core/volumes';
import { tidyWebhooks } from '@millrace/core/webhooks';
import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { deleteExpiredOperations } from '@millrace/platform/http';
import { createLogger } from '@millrace/platform/log';
import type { ClocksWorld } from './world.ts';

const log = createLogger({ name: 'clocks', level: 'silent' });
const never = new AbortController().signal;
const LIMIT = 500;
const ROUNDS_MAX = 50;

/** One step of a loop of the worker or the api, as the process runs it. `db` is the database of the rentals. */
export type Sweep = (world: ClocksWorld, db: Db) => Promise<unknown>;

const keys = createApiKeyService({ announce: () => undefined });
const inTransaction = (db: Db, name: string, work: Parameters<Db['transaction']>[1]): Promise<unknown> =>
  db.transaction({ name, isolation: 'read committed' }, work);
const potsOf = (world: ClocksWorld, db: Db): PotSweeps =>
  createPotSweeps({
    ...{ db, log, cell: 1, service: world.potService, rules: world.potRules },
    publishEnd: async () => undefined,
  });
/** The rows of volumes are in a database of their own: with the clock that the other one has. */
const volumesOf = (world: ClocksWorld, db: Db) => ({
  ...world.volumes.parts,
  ...(db === world.rentals.db ? {} : { db: world.atProcessTime(world.volumes.db) }),
});

/** By the name of the loop that runs them. */
export const sweeps: Readonly<Record<string, Sweep>> = {
  'close due api keys': (_, db) => sweepDueKeys(db, { keys, limit: LIMIT, log }),
  'ask about undecided payments': (_, db) =>
    new Payments({
      ...{ db, clock: systemClock, log, consoleUrl: 'https://console.example.com', burnOf },
      stripe: {
        live: true,
        openCheckout: () => Promise.reject(new Error('The provider is away.')),
        readCheckout: () => Promise.reject(new Error('The provider is away.')),
        listPaid: async () => [],
        verify: () => null,
      },
    }).checkDue(LIMIT),
  // A shard that was swept at this very instant is swept again.
  'post meters': async (world, db) => {
    await sweepDueShards(db, { log, everyMs: 0, limit: LIMIT });
    await sweepDueShards(volumesOf(world, db).db, { log, everyMs: 0, limit: LIMIT });
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
    inTransaction(db, 'forget expired sign-ins', (tx) => forgetExpired(tx, LIMIT)),
  'call for due rentals': (_, db) => redriveDue(db, LIMIT, { log }),
  'recover stuck rentals': async (world, db) => {
    const parts = { ...partsOf(world.rentals), db };
    await createRentalRecovery(parts).recover(never);
    // The workflow calls this; here nothing else does.
    for (const { orgId, id } of await world.liveRentals()) {
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        if ((await driveOnce(parts, orgId, id, never)).kind !== 'again') break;
      }
    }
  },
  'carry out what balances require': (_, db) => carryOutRequired(db, { log, limit: LIMIT }),
  'repair late rentals': (world, db) =>
    new RentalReconciler({
      ...{ db, clock: systemClock, log, holder: 'clocks', drivers: world.rentals.drivers },
    }).repairLate(),
  'sample machines': (world, db) => {
    const onIdle: Parameters<typeof sampleDue>[0]['onIdle'] = (rental) => carryOutIdle(db, rental);
    return sampleDue({ db, clock: systemClock, log, drivers: world.rentals.drivers, onIdle }, never);
  },
  'forget samples and consoles': async (_, db) => {
    await forgetOldSamples(db);
    await forgetOldConsoles(db);
  },
  'look at storage nodes': (world, db) => lookAtNodes(volumesOf(world, db), never),
  'bring volumes about': async (world, db) => {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      if ((await convergeDue(volumesOf(world, db), LIMIT, never)) === 0) break;
    }
  },
  'freeze unpaid volumes': (world, db) => freezeUnpaid(volumesOf(world, db).db, { log, limit: LIMIT }),
  'call in leases of pots': (world, db) => potsOf(world, db).callIn(),
  'close leases of pots': (world, db) => potsOf(world, db).closePassed(),
  'give up silent gateways': (world, db) => potsOf(world, db).buryDead(),
  'settle ended gateways': (world, db) => potsOf(world, db).settleDead(),
  'tidy webhooks': (_, db) => tidyWebhooks(db, LIMIT),
  'measure machines of suppliers': (_, db) => measureMachines({ db, clock: systemClock, log }, LIMIT),
  'judge machines of suppliers': (_, db) => judgeFaults({ db, clock: systemClock, log }),
  'forget days of machines': (_, db) => forgetTrust({ db }, LIMIT),
  'keep the usage tables': (_, db) => keepUsageTables(db),
};
