import { SimulatedClock } from '@millrace/platform/clock';
import { createDb, type Tx } from '@millrace/platform/db';
import { createIdSource, type OrgId } from '@millrace/platform/ids';
import { createItemRunner, defineLoop } from '@millrace/platform/loops';
import { nanoUsd } from '@millrace/platform/money';
import {
  createOrganisation,
  createTestDatabase,
  longDbTimeouts,
  testIds,
  testLog,
  type ItemPoison,
} from '@millrace/testing';
import { sql } from 'kysely';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { applyLedger, readBalance, requireLedgerSuccess, type LedgerCommand } from './index.ts';

/** All loops over shared items use one runner. These tests give it each kind of failing item beside real postings. */

const loop = defineLoop({ name: 'test postings', over: 'organisations', timeoutMs: 60_000, atOnce: 2 });
const amount = nanoUsd(1_000_000_000n);
// Deadlines use this clock, so that a slow machine does not time out the other items.
const clock = new SimulatedClock();

const database = await createTestDatabase();
const ids = createIdSource({ clock, cell: 1 });
const db = createDb({ ...longDbTimeouts, url: database.url, poolSize: 4, clock, ids, log: testLog() });
afterAll(async () => {
  await db.close();
  await database.drop();
});

let orgs: readonly OrgId[];
let bad: OrgId;
let neighbours: readonly OrgId[];
beforeEach(async () => {
  await db.kysely.deleteFrom('loop_items').execute();
  orgs = await Promise.all(Array.from({ length: 6 }, () => createOrganisation(db)));
  [bad, ...neighbours] = orgs as [OrgId, ...OrgId[]];
});

const base = (orgId: OrgId) => ({ orgId, mode: 'live', cause: { kind: 'test', id: 'one' } }) as const;

async function post(tx: Tx, command: LedgerCommand): Promise<void> {
  const [result] = await applyLedger(tx, [command]);
  requireLedgerSuccess(result);
}

const credit = (tx: Tx, orgId: OrgId): Promise<void> =>
  post(tx, {
    ...base(orgId),
    step: 'credit',
    do: 'credit',
    kind: 'top_up',
    amount,
    from: [{ account: { kind: 'payments_clearing' }, amount }],
    description: 'Top-up',
  });

/** For each kind of failure, the failing work and the problem that the item's row shows. */
const poisons: Readonly<
  Record<ItemPoison, { readonly work: (tx: Tx) => Promise<unknown>; readonly problem: RegExp }>
> = {
  throws: { work: () => Promise.reject(new Error('This item is bad.')), problem: /^This item is bad\.$/ },
  hangs: { work: () => new Promise(() => undefined), problem: /test postings/ },
  'times out': {
    work: async (tx) => {
      await sql`set local statement_timeout = '100ms'`.execute(tx.kysely);
      await sql`select pg_sleep(600)`.execute(tx.kysely);
    },
    problem: /statement timeout/,
  },
  'is refused by the ledger': {
    work: (tx) => post(tx, { ...base(bad), step: 'close', do: 'close', holdId: testIds.next('hld') }),
    problem: /The ledger refused with HOLD_NOT_FOUND/,
  },
};

const inTransaction = (work: (tx: Tx) => Promise<void>): Promise<void> =>
  db.transaction({ name: 'work', isolation: 'read committed' }, work);
const balanceOf = async (orgId: OrgId): Promise<bigint> =>
  (await readBalance(db, orgId, 'live', clock.now())).balance;
const failing = () =>
  db.kysely
    .selectFrom('loop_items')
    .select(['item', 'failures', 'problem'])
    .where('failures', '>', 0)
    .execute();
const key = (orgId: OrgId): string => orgId;

/** Expects each other item to be posted once, and only the failing item to be recorded as failed. */
async function expectOnlyBadFailed(problem: RegExp): Promise<void> {
  expect(await Promise.all(neighbours.map(balanceOf))).toEqual(neighbours.map(() => amount));
  expect(await balanceOf(bad)).toBe(0n);
  expect(await failing()).toEqual([{ item: bad, failures: 1, problem: expect.stringMatching(problem) }]);
}

describe.each([
  ['without claims', false],
  ['with claims', true],
])('items that run separately, %s', (_, claims) => {
  it.each<ItemPoison>(['throws', 'hangs', 'times out', 'is refused by the ledger'])(
    'are posted beside an item that %s, which is postponed and posted after the fault is removed',
    async (how) => {
      const { work, problem } = poisons[how];
      const runner = createItemRunner(loop, { clock, log: testLog(), db, claims });
      let posted = 0;
      const hang = Promise.withResolvers<void>();
      const running = runner.run(orgs, {
        key,
        work: async (orgId) => {
          // The hanging work runs outside of a transaction, so that it occupies no connection of the pool.
          if (orgId === bad && how === 'hangs') return hang.promise;
          await inTransaction(async (tx) => {
            if (orgId === bad) await work(tx);
            await credit(tx, orgId);
          });
          posted += 1;
        },
      });
      await expect.poll(() => posted).toBe(neighbours.length);
      if (how === 'hangs') await clock.advance(loop.timeoutMs);
      expect(await running).toEqual({ done: neighbours.length, failed: 1, skipped: 0 });
      await expectOnlyBadFailed(problem);
      // The runner keeps other workers from a hung item until some time after its work has ended.
      hang.resolve();
      const next = createItemRunner(loop, { clock, log: testLog(), db });
      await expect
        .poll(async () => {
          await clock.advance(loop.maxRetryMs);
          await next.run([bad], { key, work: (orgId) => inTransaction((tx) => credit(tx, orgId)) });
          return balanceOf(bad);
        })
        .toBe(amount);
      expect(await failing()).toEqual([]);
    },
  );
});

describe('items that run in one transaction', () => {
  it.each<ItemPoison>(['throws', 'times out', 'is refused by the ledger'])(
    'are posted once each, except for one that %s',
    async (how) => {
      const { work, problem } = poisons[how];
      const runner = createItemRunner(loop, { clock, log: testLog(), db });
      const report = await runner.runBatch(orgs, {
        key,
        together: (items) =>
          inTransaction(async (tx) => {
            for (const orgId of items) {
              if (orgId === bad) await work(tx);
              await credit(tx, orgId);
            }
          }),
      });
      expect(report).toEqual({ done: neighbours.length, failed: 1, skipped: 0 });
      await expectOnlyBadFailed(problem);
    },
  );
});
