import { createDb } from '@millrace/platform/db';
import { createIdSource, toUuid, type HoldId, type LeaseId, type OrgId } from '@millrace/platform/ids';
import { systemClock } from '@millrace/platform/clock';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { runAudit } from '../auditor/index.ts';
import { quiet } from '../customers.fixture.ts';
import { processMessages } from '../inference/index.ts';
import { applyLedger, requireLedgerSuccess, type LedgerCommand } from '../ledger/index.ts';
import { createArchiver, createUsageArchiver } from '../retention/index.ts';
import { createInvoiceHarness, usd } from './invoices.fixture.ts';

const harness = await createInvoiceHarness(Date.UTC(2023, 0, 3));
const { db, database, clock } = harness;
afterAll(() => harness[Symbol.asyncDispose]());
const ids = createIdSource({ clock, cell: 1 });
const gatewayId = 'gateway-one';
const keyId = ids.next('key');

for (const day of ['2023-01-03', '2023-02-10']) {
  for (const table of ['usage_charges', 'inference_requests']) {
    const name = `${table}_${day.replaceAll('-', '')}`;
    await database.query(`
      create table ${name} (like ${table} including all);
      alter table ${table} attach partition ${name}
        for values from (first_id_of_day('${day}')) to (first_id_of_day(date '${day}' + 1))`);
  }
}

const apply = async (command: LedgerCommand) => {
  const results = await db.transaction({ name: 'test', isolation: 'read committed' }, (tx) =>
    applyLedger(tx, [command]),
  );
  return requireLedgerSuccess(results[0]);
};

interface Lease {
  readonly orgId: OrgId;
  readonly id: LeaseId;
  readonly holdId: HoldId;
}

let epoch = 0;
/** Written directly, because the lender needs Valkey. */
async function openLease(orgId: OrgId): Promise<Lease> {
  const id = ids.next('lse');
  const cause = { kind: 'pot', id };
  const { holdId } = await apply({
    ...{ do: 'hold', orgId, mode: 'live', cause, step: 'open', amount: usd(10), demand: 'new' },
  });
  if (holdId === null) throw new Error('Nothing is held.');
  epoch += 1;
  await database.query(
    `insert into pot_leases (id, org_id, mode, cell, epoch, generation, hold_id, granted_nano_usd, used_at, state, opened_at, expires_at)
     values ($1, $2, 'live', 1, $3, 1, $4, $5, $6, 'open', $6, $6)`,
    [toUuid(id), toUuid(orgId), epoch, toUuid(holdId), usd(10), clock.now()],
  );
  await database.query(
    `insert into pot_lease_gateways (lease_id, gateway_id, org_id, mode, told_at) values ($1, $2, $3, 'live', $4)`,
    [toUuid(id), gatewayId, toUuid(orgId), clock.now()],
  );
  return { orgId, id, holdId };
}

async function closeLease({ orgId, id, holdId }: Lease): Promise<void> {
  const cause = { kind: 'pot', id };
  await apply({ ...{ do: 'close', orgId, mode: 'live', cause, step: 'close', holdId } });
  await database.query(
    `update pot_leases set state = 'closed', closing_at = $2, closed_at = $2 where id = $1`,
    [toUuid(id), clock.now()],
  );
}

let sequence = 0;
const message = (lease: Lease, requestId: string) => ({
  ...{ kind: 'final', requestId, orgId: lease.orgId, mode: 'live', keyId, leaseId: lease.id, gatewayId },
  ...{
    budgetIds: [],
    reservedNanoUsd: '90000',
    amountNanoUsd: '50000',
    pricedNanoUsd: '50000',
    priceIds: [],
  },
  ...{ model: 'model-one', deployment: null, createdAtMs: clock.nowMs(), streamed: false, cancelled: false },
  ...{
    finishReason: 'stop',
    latencyMs: 9,
    ttftMs: null,
    generationMs: null,
    tokensPrompt: 0,
    tokensCached: 0,
  },
  ...{ tokensCompletion: 0, imagePixelSteps: 0, characters: 10, attempts: [] },
});
async function send(events: readonly unknown[]) {
  sequence += 1;
  const text = () => JSON.stringify({ events });
  return processMessages(db, 'usage', [{ sequence, subject: 'usage.1.batch', text }]);
}
async function use(lease: Lease): Promise<unknown> {
  const event = message(lease, ids.next('req'));
  expect(await send([event])).toMatchObject({ recorded: 1, uncharged: 0, unreadable: 0 });
  return event;
}

const archiver = (afterMonths = 3) =>
  createUsageArchiver(db, { log: quiet, afterMonths, statementTimeoutMs: 60_000, batch: 3 });
const step = archiver();
const count = async (table: string): Promise<number> =>
  Number((await harness.rows<{ count: bigint }>(`select count(*) as count from ${table}`))[0]?.count ?? 0n);
const old = `usage_charges where request_id < first_id_at('2023-03-01')`;
const accounts = () => harness.rows('select * from ledger_accounts order by id');

const orgId = await harness.organisation();
const first = await openLease(orgId);
const january = await use(first);
for (let n = 0; n < 4; n += 1) await use(first);
await closeLease(first);
const second = await openLease(orgId);
await harness.goTo(new Date(Date.UTC(2023, 1, 10)));
await use(second);
await harness.goTo(new Date(Date.UTC(2023, 1, 28, 23, 59)));
const beforeTheEnd = message(second, ids.next('req'));
await harness.goTo(new Date(Date.UTC(2023, 2, 1, 0, 1)));
await send([beforeTheEnd]);
const march = await use(second);
await harness.goTo(new Date(Date.UTC(2023, 2, 20)));
await harness.sweep();

describe('the archive of requests', () => {
  it('is due up to the last invoiced month, whatever the clock of the database says', async () => {
    const [row] = await harness.rows<{ due: string }>(`select due_usage_archive(3)::text as due`);
    expect(row?.due).toBe('2023-03-01');
  });

  it('refuses a month that ended less than two months ago', async () => {
    const month = `date_trunc('month', now())::date`;
    await expect(harness.rows(`select begin_usage_archive(${month})`)).rejects.toThrow('two months ago');
  });

  it('begins only after a full audit without drift', async () => {
    const id = toUuid(second.id);
    await database.query(`update pot_leases set settled_nano_usd = settled_nano_usd + 1 where id = $1`, [id]);
    expect(await archiver()()).toBe('idle');
    expect(await count('usage_archives')).toBe(0);
    await database.query(`update pot_leases set settled_nano_usd = settled_nano_usd - 1 where id = $1`, [id]);
  });

  it('waits for deferred usage of its months', async () => {
    await database.query(
      `insert into usage_deferred (stream, seq, position, org_id, lease_id, kind, payload, recorded_at)
       values ('usage', 1, 0, $1, $2, 'usage', $3, now())`,
      [toUuid(orgId), toUuid(first.id), JSON.stringify(january)],
    );
    expect(await archiver()()).toBe('idle');
    expect(await count('usage_archives')).toBe(0);
    await database.query('delete from usage_deferred');
  });

  it('repeats its audit if an old request was charged after the snapshot', async () => {
    const client = await database.connect();
    await client.query('begin isolation level repeatable read; select count(*) from usage_charges');
    await use(second);
    await expect(client.query(`select begin_usage_archive('2023-03-01')`)).rejects.toMatchObject({
      code: '40001',
    });
    await client.end();
  });

  it('changes nothing if its process dies before the commit', async () => {
    const client = await database.connect();
    await client.query(`begin isolation level repeatable read; select begin_usage_archive('2023-03-01')`);
    await client.end();
    expect(await count('usage_archives')).toBe(0);
    expect(await count('usage_months')).toBe(0);
  });

  it('begins, deletes by day, and audits find no drift before, meanwhile and afterwards', async () => {
    expect(await harness.drift()).toEqual([]);
    expect(await step()).toBe('busy');
    expect(await count(old)).toBe(7);
    expect(await harness.drift()).toEqual([]);
    expect(await step()).toBe('busy');
    expect(await harness.drift()).toEqual([]);
    // Two workers at once.
    while ((await count('usage_archives where deleted_at is null')) > 0) await Promise.all([step(), step()]);
    expect(await count(old)).toBe(0);
    expect(await count(`inference_requests where id < first_id_at('2023-03-01')`)).toBe(0);
    expect(await harness.drift()).toEqual([]);
    expect(await step()).toBe('idle');
    const [archive] = await harness.rows(`select requests::int, deleted_partitions from usage_archives`);
    expect(archive).toEqual({ requests: 7, deleted_partitions: 4 });
  });

  it('retains the sums by month, key and model', async () => {
    const rows = await harness.rows(`
      select month::text, org_id, key_id, model, outcome, requests::int, characters::int, cost_nano_usd::int as cost
        from usage_months order by month`);
    const of = { org_id: toUuid(orgId), key_id: toUuid(keyId), model: 'model-one', outcome: 'charged' };
    expect(rows).toEqual([
      { month: '2023-01-01', ...of, requests: 5, characters: 50, cost: 250_000 },
      { month: '2023-02-01', ...of, requests: 2, characters: 20, cost: 100_000 },
    ]);
  });

  it('states in the report from when requests are checked', async () => {
    const report = await runAudit(db, { kind: 'full', whenBusy: 'unrecorded' });
    expect(report?.requestsThrough).toEqual(new Date('2023-03-01T00:00:00Z'));
  });

  it('records a late duplicate of an archived request and changes no account', async () => {
    const before = await accounts();
    expect(await send([january])).toMatchObject({ recorded: 1, charged: 0n, uncharged: 1 });
    expect(await send([january])).toMatchObject({ recorded: 0, charged: 0n, unreadable: 0 });
    expect(await accounts()).toEqual(before);
    expect(await harness.drift()).toEqual([]);
  });

  it('quarantines a late duplicate if the clock of the sink is behind, and changes no account', async () => {
    const before = await accounts();
    // For the clock of this process, the request is 20 days old.
    expect(await send([beforeTheEnd])).toMatchObject({ recorded: 0, charged: 0n, unreadable: 1 });
    expect(await accounts()).toEqual(before);
    expect(await harness.drift()).toEqual([]);
  });

  it('recognises a duplicate of a later request as before', async () => {
    const before = await accounts();
    expect(await send([march])).toMatchObject({ recorded: 0, charged: 0n });
    expect(await accounts()).toEqual(before);
  });

  it('refuses to charge an archived request to code that does not know the archive', async () => {
    const copy = `insert into usage_charges select '01856e0c-0000-7000-8000-000000000001', org_id, mode, key_id, lease_id, gateway_id,
      product, amount_nano_usd, borne_nano_usd, transfer_id, outcome, recorded_at from usage_charges where outcome = 'charged' limit 1`;
    await expect(database.query(copy)).rejects.toMatchObject({
      code: '23514',
      constraint: 'usage_charges_after_the_archive',
    });
  });
});

describe('closed leases', () => {
  it('stay until their charges are archived too', async () => {
    await closeLease(second);
    expect(await step()).toBe('idle');
    expect(await count('pot_leases')).toBe(2);
  });

  it('are deleted with their holds then, but not those with later requests', async () => {
    const ledger = createArchiver(db, {
      log: quiet,
      afterMonths: 13,
      statementTimeoutMs: 60_000,
      batch: 100,
    });
    // The ledger archive has all months, so that only the requests hold the second lease.
    while ((await ledger()) === 'busy');
    expect(await harness.drift()).toEqual([]);
    await Promise.all([step(), archiver()()]);
    expect(await harness.rows('select id from pot_leases')).toEqual([{ id: toUuid(second.id) }]);
    expect(await count(`ledger_holds where id = '${toUuid(first.holdId)}'`)).toBe(0);
    expect(await count(`ledger_hold_parts where hold_id = '${toUuid(first.holdId)}'`)).toBe(0);
    expect(await harness.drift()).toEqual([]);
  });

  it('whose usage arrives late are unknown, and nothing is charged', async () => {
    const before = await accounts();
    const unknown = message(first, ids.next('req'));
    expect(await send([unknown])).toMatchObject({ recorded: 1, charged: 0n, uncharged: 1 });
    expect(await accounts()).toEqual(before);
    expect(await harness.drift()).toEqual([]);
  });
});

describe('the deletion of a day', () => {
  const archiveApril = async () => {
    await harness.goTo(new Date(Date.UTC(2023, 4, 2)));
    await harness.sweep();
    return archiver()();
  };

  it('does not wait for readers of the table, and continues after them', async () => {
    expect(await archiveApril()).toBe('busy');
    await database.query(`
      create table usage_charges_20230301 (like usage_charges including all);
      with moved as (delete from usage_charges_rest where request_id >= first_id_of_day('2023-03-01')
                        and request_id < first_id_of_day('2023-03-02') returning *)
      insert into usage_charges_20230301 select * from moved;
      alter table usage_charges attach partition usage_charges_20230301
        for values from (first_id_of_day('2023-03-01')) to (first_id_of_day('2023-03-02'))`);
    const reader = await database.connect();
    await reader.query('begin; select count(*) from usage_charges');
    while ((await step()) === 'busy');
    expect(await count(`pg_class where relname = 'usage_charges_20230301'`)).toBe(1);
    // Leases do not wait for it.
    expect(await count('pot_leases')).toBe(0);
    await reader.end();
    while ((await step()) === 'busy');
    expect(await count(`pg_class where relname = 'usage_charges_20230301'`)).toBe(0);
    expect(await harness.drift()).toEqual([]);
  });

  it('is a right of the owner: workers can only call the function', async () => {
    const worker = createDb({
      ...{ url: database.url, poolSize: 1, role: 'millrace_worker', log: quiet, clock: systemClock },
      ids: createIdSource({ clock: systemClock, cell: 2 }),
    });
    const run = (statement: string) =>
      worker.transaction({ name: 'test', isolation: 'read committed' }, (tx) =>
        sql.raw(statement).execute(tx.kysely),
      );
    for (const table of ['pot_leases', 'usage_archives', 'usage_months', 'usage_archive_guard']) {
      await expect(run(`delete from ${table}`), table).rejects.toMatchObject({ code: '42501' });
    }
    await run('select delete_archived_usage(10), delete_archived_leases(10), due_usage_archive(3)');
    await worker.close();
  });
});
