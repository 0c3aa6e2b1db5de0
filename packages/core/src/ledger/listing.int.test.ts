import type { Db, Tx } from '@millrace/platform/db';
import { toUuid, type OrgId } from '@millrace/platform/ids';
import { createOrganisation, createTestDatabase, type TestDatabase } from '@millrace/testing';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listAllTransfers, listTransfers, type TransferFilter } from './index.ts';

/** A year of one busy organisation: a charge every ten minutes, and three refunds. */
const CHARGES = 50_000;
const start = new Date('2026-01-01T00:00:00Z');
const at = (nth: number) => new Date(start.getTime() + nth * 600_000);

let database: TestDatabase;
let db: Db;
let orgId: OrgId;
beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
  orgId = await createOrganisation(db);
  const client = await database.connect();
  try {
    // Skips the triggers: these tests only read transfers, no entries.
    await client.query('set session_replication_role = replica');
    await client.query(
      `insert into ledger_transfers (id, org_id, mode, kind, idempotency_key, cause_kind, cause_id, amount_nano_usd,
                                     balance_after_nano_usd, description, reverses, occurred_at)
       select (lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') || '70008000'
               || lpad(to_hex(nth), 12, '0'))::uuid,
              $1, 'live', kind, 'rental:' || nth || ':one', 'rental', nth::text, -1, 0, 'A charge',
              case when kind = 'refund' then $1::uuid end, at
         from (select nth, $2::timestamptz + nth * interval '10 minutes' as at,
                      case when nth in (7, 20000, 40000) then 'refund' else 'charge' end as kind
                 from generate_series(1, $3::int) as nth) as made`,
      [toUuid(orgId), start, CHARGES],
    );
    await client.query('analyze ledger_transfers');
  } finally {
    await client.end();
  }
});
afterAll(() => database.drop());

/** Returns the result and the number of rows that were read for it. */
function watched<T>(work: (tx: Tx) => Promise<T>): Promise<{ result: T; read: number }> {
  return db.transaction({ name: 'watched', isolation: 'read committed' }, async (tx) => {
    const before = await rowsRead(tx);
    const result = await work(tx);
    return { result, read: (await rowsRead(tx)) - before };
  });
}

async function rowsRead(tx: Tx): Promise<number> {
  const { rows } = await sql<{ read: string }>`
    select (seq_tup_read + coalesce(idx_tup_fetch, 0))::text as read
      from pg_stat_xact_user_tables where relname = 'ledger_transfers'
  `.execute(tx.kysely);
  return Number(rows[0]?.read);
}

const nthOf = (rows: readonly { readonly cause: { readonly id: string } }[]) =>
  rows.map((row) => Number(row.cause.id));

describe('a page of the ledger reads little more than it shows', () => {
  const page = { limit: 10, after: null };

  it.each<[string, TransferFilter, readonly number[]]>([
    ['by a rare kind', { kind: 'refund' }, [40_000, 20_000, 7]],
    ['by a kind without transfers', { kind: 'clawback' }, []],
    ['by a time long ago', { until: at(10) }, [9, 8, 7, 6, 5, 4, 3, 2, 1]],
    ['by a period in the middle', { from: at(25_000), until: at(25_003) }, [25_002, 25_001, 25_000]],
    ['by one cause', { cause: { kind: 'rental', id: '123' } }, [123]],
  ])('for a filter %s', async (_what, filter, wanted) => {
    const own = await watched((tx) => listTransfers(tx, orgId, { mode: 'live', ...filter }, page));
    expect(nthOf(own.result)).toEqual(wanted);
    expect(own.read).toBeLessThan(100);
  });

  it.each<[string, TransferFilter, readonly number[]]>([
    ['by a rare kind', { kind: 'refund' }, [40_000, 20_000, 7]],
    ['by a kind without transfers', { kind: 'clawback' }, []],
    ['by a time long ago', { until: at(10) }, [9, 8, 7, 6, 5, 4, 3, 2, 1]],
  ])("for an operator's filter %s over all organisations", async (_what, filter, wanted) => {
    const all = await watched((tx) => listAllTransfers(tx, filter, page));
    expect(nthOf(all.result)).toEqual(wanted);
    expect(all.read).toBeLessThan(100);
  });
});
