import { systemClock } from '@millrace/platform/clock';
import { createDb, isUniqueViolation } from '@millrace/platform/db';
import { createIdSource, toUuid, type OrgId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { runAudit } from '../auditor/index.ts';
import { quiet } from '../customers.fixture.ts';
import { createInvoiceHarness, usd } from './invoices.fixture.ts';
import {
  applyLedger,
  createBudget,
  earningsByResource,
  listTransfers,
  type LedgerCommand,
} from '../ledger/index.ts';
import { createArchiver } from '../retention/index.ts';

const DAY_MS = 86_400_000;
const harness = await createInvoiceHarness(Date.UTC(2023, 0, 2));
const { db, database } = harness;
afterAll(() => harness[Symbol.asyncDispose]());

const charge = (orgId: OrgId, id: string, amount = usd(1)): LedgerCommand => ({
  do: 'debit',
  kind: 'charge',
  orgId,
  mode: 'live',
  cause: { kind: 'rental', id },
  step: 'once',
  amount,
  to: [{ account: { kind: 'revenue', product: 'rental' }, amount }],
  whenShort: 'refuse',
  description: 'Work',
});

const apply = (...commands: LedgerCommand[]) =>
  db.transaction({ name: 'test', isolation: 'read committed' }, (tx) => applyLedger(tx, commands));

const orgId = await harness.organisation();
const meter = await harness.rent(orgId, usd(2));
await db.transaction({ name: 'test', isolation: 'read committed' }, (tx) =>
  createBudget(tx, {
    ...{ orgId, limit: usd(90_000), mode: 'live', name: 'all', keyIds: null, period: 'total' },
    thresholdsPercent: [100],
    onExceeded: 'notify',
  }),
);
const refunded = await harness.charge(orgId, usd(7));
const [original] = await apply(charge(orgId, 'late'));
await apply({
  ...{ do: 'refund', orgId, mode: 'live', cause: { kind: 'rental', id: 'late' }, step: 'refund' },
  ...{ transferId: refunded, amount: usd(2), description: 'Refund' },
});
const supplier = await harness.organisation();
await apply({
  ...charge(orgId, 'supplied', usd(4)),
  step: 'meter:gpu:1',
  to: [{ account: { kind: 'supplier_payable', orgId: supplier }, amount: usd(4) }],
} as LedgerCommand);
for (let day = 0; day < 75; day += 5) {
  await harness.charge(orgId, usd(1));
  await harness.goTo(new Date(harness.clock.nowMs() + 5 * DAY_MS));
  await harness.sweepMeters();
}
await harness.sweep();

const step = createArchiver(db, { log: quiet, afterMonths: 13, statementTimeoutMs: 60_000, batch: 3 });
const count = async (table: string): Promise<number> =>
  Number((await harness.rows<{ count: bigint }>(`select count(*) as count from ${table}`))[0]?.count ?? 0n);
const isMoving = async (): Promise<boolean> => (await count('ledger_archives where moved_at is null')) > 0;

describe('the archive', () => {
  it('begins only after a full audit without drift', async () => {
    const owner = createDb({
      url: database.url,
      poolSize: 1,
      role: null,
      log: quiet,
      clock: systemClock,
      ids: createIdSource({ clock: systemClock, cell: 2 }),
    });
    const alter = (sign: string) =>
      owner.transaction({ name: 'alter', isolation: 'read committed' }, async (tx) => {
        await sql
          .raw(`set local session_replication_role = replica;
          update ledger_accounts set balance_nano_usd = balance_nano_usd ${sign} 1 where kind = 'credit'`)
          .execute(tx.kysely);
      });
    await alter('+');
    const refusing = createArchiver(db, {
      log: quiet,
      afterMonths: 13,
      statementTimeoutMs: 60_000,
      batch: 3,
    });
    expect(await refusing()).toBe('idle');
    expect(await count('ledger_archives')).toBe(0);
    await alter('-');
    await owner.close();
  });

  it('moves in batches, and audits find no drift before, meanwhile and afterwards', async () => {
    const before = await count('ledger_transfers');
    expect(await harness.drift()).toEqual([]);
    expect(await step()).toBe('busy');
    expect(await count('ledger_transfers')).toBe(before);
    expect(await harness.drift()).toEqual([]);
    expect(await step()).toBe('busy');
    expect(await count('ledger_transfers')).toBeLessThan(before);
    expect(await harness.drift()).toEqual([]);
    // Two workers at once.
    while (await isMoving()) await Promise.all([step(), step()]);
    expect(await harness.drift()).toEqual([]);
    expect((await count('ledger_transfers')) + (await count('archived_ledger_transfers'))).toBe(before);
    expect(await count('ledger_archive_differences()')).toBe(0);
    expect(await step()).toBe('idle');
  });

  it('leaves top-ups and grants, and charges that a refund names', async () => {
    const rows = await harness.rows<{ kind: string }>(
      'select distinct kind from archived_ledger_transfers order by 1',
    );
    expect(rows.map(({ kind }) => kind)).toEqual(['budget', 'charge']);
    expect(await count(`ledger_transfers where id = '${toUuid(refunded)}'`)).toBe(1);
  });

  it('states in the report that audits start from opening balances', async () => {
    const report = await runAudit(db, { kind: 'full', whenBusy: 'unrecorded' });
    expect(report?.archivedThrough?.getTime()).toBeGreaterThan(Date.UTC(2023, 2, 17));
    expect(report?.outcomes.find(({ check }) => check === 'transfer_sums_to_zero')?.lookedAt).toBeLessThan(3);
  });

  it('answers a late duplicate of an archived charge with the recorded result and moves no money', async () => {
    const transfers = await count('ledger_transfers');
    expect(await count(`archived_ledger_transfers where cause_id = 'late' and kind = 'charge'`)).toBe(1);
    const [repeated] = await apply(charge(orgId, 'late'));
    expect(repeated).toEqual({ ...original, replayed: true });
    expect(await count('ledger_transfers')).toBe(transfers);
  });

  it('keeps the earnings of suppliers', async () => {
    expect(await count(`archived_ledger_transfers where cause_id = 'supplied'`)).toBe(1);
    const period = { from: new Date(Date.UTC(2023, 0, 1)), until: new Date(Date.UTC(2023, 1, 1)) };
    const resources = sql`select ${toUuid(orgId)}::uuid as org_id, 'rental' as cause_kind, 'supplied' as cause_id`;
    const { rows } = await sql<{ earned: string }>`
      select sum(earned)::text as earned from (${earningsByResource(supplier, period, resources)}) as by_day`.execute(
      db.kysely,
    );
    expect(rows).toEqual([{ earned: String(usd(4)) }]);
  });

  it('does not shorten the list of transfers, and a page reads the indexes of both tables', async () => {
    const all = Number(
      (
        await harness.rows<{ n: bigint }>(
          `select count(*) as n from all_ledger_transfers where org_id = '${toUuid(orgId)}' and kind <> 'budget'`,
        )
      )[0]?.n,
    );
    const listed = await listTransfers(db, orgId, { mode: 'live' }, { limit: 500, after: null });
    expect(listed).toHaveLength(all);
    expect(listed.map(({ id }) => id)).toEqual(
      listed
        .map(({ id }) => id)
        .toSorted()
        .toReversed(),
    );
    const page = await listTransfers(db, orgId, { mode: 'live' }, { limit: 4, after: listed[2]?.id ?? null });
    expect(page).toEqual(listed.slice(3, 8));
    const plan = await harness.rows<{ 'QUERY PLAN': string }>(`
      explain select * from all_ledger_transfers where org_id = '${toUuid(orgId)}' and mode = 'live' order by id desc limit 5`);
    expect(JSON.stringify(plan)).toContain('Merge Append');
  });

  it('refuses the key of an archived transfer also to code that does not know the archive', async () => {
    const copy = `insert into ledger_transfers select 'ffffffff-0000-7000-8000-000000000001', org_id, mode, kind, idempotency_key, cause_kind, cause_id,
      amount_nano_usd, balance_after_nano_usd, hold_id, reverses, key_id, description, usage, occurred_at
      from archived_ledger_transfers where cause_id = 'late'`;
    const error = await database.query(copy).catch((thrown: unknown) => thrown);
    expect(isUniqueViolation(error, 'ledger_transfers_once')).toBe(true);
  });

  it('refuses a transfer whose id is of an archived month, because the clock of its process is wrong', async () => {
    await expect(harness.charge(orgId, usd(1))).rejects.toThrow('a clock is wrong');
  });

  it('does not delete a ledger row that has no identical copy in the archive', async () => {
    await expect(database.query(`delete from ledger_transfers`)).rejects.toThrow('append-only');
    await expect(database.query(`delete from ledger_entries`)).rejects.toThrow('append-only');
    await expect(database.query(`delete from archived_ledger_transfers`)).rejects.toThrow('append-only');
  });

  it('continues with charges of an open meter and a total budget after the archive', async () => {
    await harness.goTo(systemClock.now());
    await harness.sweepMeters();
    await harness.charge(orgId, usd(3));
    expect(await harness.drift()).toEqual([]);
    await harness.close(meter, harness.clock.now());
    expect(await harness.drift()).toEqual([]);
    expect(
      (await runAudit(db, { kind: 'incremental' }))?.outcomes.filter(
        ({ found, check }) => found > 0 && check !== 'shortfall',
      ),
    ).toEqual([]);
  });
});
