import type { Tx } from '@millrace/platform/db';
import { sql, type RawBuilder } from 'kysely';
import type { Account } from './accounts.ts';
import type { Hold, Slice } from './slice.ts';
import { bigints, int8s, texts, uuids } from './sql-arrays.ts';

/** Writes what the decisions have left, in one statement: the database checks it as a whole, or has none of it. */
export async function writeSlice(tx: Tx, slice: Slice): Promise<void> {
  const accounts = [...slice.accounts.values()].filter((account) => account.touched);
  const holds = [...slice.holds.values()].filter((hold) => hold.touched);
  const budgets = [...slice.accounts.values()].filter((account) => account.budget?.changed === true);
  if (accounts.length === 0 && holds.length === 0 && budgets.length === 0) return;
  const now = new Date(slice.nowMs);
  const parts: RawBuilder<unknown>[] = [
    sql`changed as (${updateAccounts(accounts.filter((account) => !account.isNew))})`,
  ];
  const opened = accounts.filter((account) => account.isNew);
  if (opened.length > 0) parts.push(sql`opened as (${insertAccounts(opened)})`);
  if (slice.newTransfers.length > 0) parts.push(sql`moved as (${insertTransfers(slice, now)})`);
  if (holds.length > 0) parts.push(...writeHolds(holds, now));
  if (budgets.length > 0) parts.push(sql`counted as (${updateBudgets(budgets)})`);
  if (slice.newEntries.length > 0) parts.push(sql`entered as (${insertEntries(slice)})`);
  await sql`with ${sql.join(parts, sql`, `)} select 1`.execute(tx.kysely);
}

function updateAccounts(accounts: readonly Account[]): RawBuilder<unknown> {
  return sql`
    update ledger_accounts account
       set balance_nano_usd = change.balance, held_nano_usd = change.held, floor_nano_usd = change.floor,
           entry_count = change.entry_count
      from unnest(${uuids(accounts.map((a) => a.id))}::uuid[], ${bigints(accounts.map((a) => a.balance))}::bigint[],
                  ${bigints(accounts.map((a) => a.held))}::bigint[], ${bigints(accounts.map((a) => a.floor))}::bigint[],
                  ${bigints(accounts.map((a) => a.entryCount))}::bigint[])
        as change (id, balance, held, floor, entry_count)
     where account.id = change.id`;
}

function insertAccounts(accounts: readonly Account[]): RawBuilder<unknown> {
  const expiries = accounts.map((a) => (a.expiresAtMs === null ? null : new Date(a.expiresAtMs)));
  return sql`
    insert into ledger_accounts (id, kind, org_id, mode, balance_nano_usd, floor_nano_usd, entry_count, held_nano_usd,
                                 priority, expires_at)
    select * from unnest(${uuids(accounts.map((a) => a.id))}::uuid[], ${accounts.map((a) => a.kind)}::text[],
      ${uuids(accounts.map((a) => a.orgId))}::uuid[], ${accounts.map((a) => a.mode)}::text[],
      ${bigints(accounts.map((a) => a.balance))}::bigint[], ${bigints(accounts.map((a) => a.floor))}::bigint[],
      ${bigints(accounts.map((a) => a.entryCount))}::bigint[], ${bigints(accounts.map((a) => a.held))}::bigint[],
      ${int8s(accounts.map((a) => a.priority))}::smallint[], ${expiries}::timestamptz[])`;
}

function insertTransfers(slice: Slice, now: Date): RawBuilder<unknown> {
  const rows = slice.newTransfers;
  return sql`
    insert into ledger_transfers (id, org_id, mode, kind, idempotency_key, cause_kind, cause_id, amount_nano_usd,
                                  balance_after_nano_usd, hold_id, reverses, key_id, description, usage, occurred_at)
    select row.*, ${now}::timestamptz
      from unnest(${uuids(rows.map((r) => r.id))}::uuid[], ${uuids(rows.map((r) => r.orgId))}::uuid[],
                  ${rows.map((r) => r.mode)}::text[], ${rows.map((r) => r.kind)}::text[],
                  ${texts(rows.map((r) => r.key))}::text[], ${texts(rows.map((r) => r.causeKind))}::text[],
                  ${texts(rows.map((r) => r.causeId))}::text[], ${bigints(rows.map((r) => r.amount))}::bigint[],
                  ${bigints(rows.map((r) => r.balanceAfter))}::bigint[], ${uuids(rows.map((r) => r.holdId))}::uuid[],
                  ${uuids(rows.map((r) => r.reverses))}::uuid[], ${uuids(rows.map((r) => r.keyId))}::uuid[],
                  ${texts(rows.map((r) => r.description))}::text[],
                  ${rows.map((r) => (r.usage === null ? null : JSON.stringify(r.usage)))}::text[]::jsonb[]) as row`;
}

function insertEntries(slice: Slice): RawBuilder<unknown> {
  const rows = slice.newEntries;
  return sql`
    insert into ledger_entries (transfer_id, account_id, amount_nano_usd, account_seq, balance_after_nano_usd)
    select * from unnest(${uuids(rows.map((r) => r.transferId))}::uuid[], ${uuids(rows.map((r) => r.accountId))}::uuid[],
      ${bigints(rows.map((r) => r.amount))}::bigint[], ${bigints(rows.map((r) => r.seq))}::bigint[],
      ${bigints(rows.map((r) => r.balanceAfter))}::bigint[])`;
}

function writeHolds(holds: readonly Hold[], now: Date): RawBuilder<unknown>[] {
  const made = holds.filter((hold) => hold.isNew);
  const kept = holds.filter((hold) => !hold.isNew);
  const parts = holds.flatMap((hold) =>
    Array.from(hold.parts, ([accountId, held]) => ({ holdId: hold.id, accountId, held })),
  );
  const written: RawBuilder<unknown>[] = [];
  if (made.length > 0) written.push(sql`made as (${insertHolds(made, now)})`);
  if (kept.length > 0) written.push(sql`kept as (${updateHolds(kept)})`);
  if (parts.length > 0) {
    written.push(sql`parts as (
      insert into ledger_hold_parts (hold_id, account_id, held_nano_usd)
      select * from unnest(${uuids(parts.map((p) => p.holdId))}::uuid[], ${uuids(parts.map((p) => p.accountId))}::uuid[],
        ${bigints(parts.map((p) => p.held))}::bigint[])
      on conflict (hold_id, account_id) do update set held_nano_usd = excluded.held_nano_usd)`);
  }
  return written;
}

const closedAt = (hold: Hold): Date | null => (hold.closedAtMs === null ? null : new Date(hold.closedAtMs));

function insertHolds(holds: readonly Hold[], now: Date): RawBuilder<unknown> {
  return sql`
    insert into ledger_holds (id, org_id, mode, idempotency_key, cause_kind, cause_id, key_id, held_nano_usd,
                              posted_nano_usd, closed_at, created_at)
    select row.*, ${now}::timestamptz
      from unnest(${uuids(holds.map((h) => h.id))}::uuid[], ${uuids(holds.map((h) => h.orgId))}::uuid[],
                  ${holds.map((h) => h.mode)}::text[], ${texts(holds.map((h) => h.key))}::text[],
                  ${texts(holds.map((h) => h.causeKind))}::text[], ${texts(holds.map((h) => h.causeId))}::text[],
                  ${uuids(holds.map((h) => h.keyId))}::uuid[], ${bigints(holds.map((h) => h.held))}::bigint[],
                  ${bigints(holds.map((h) => h.posted))}::bigint[], ${holds.map(closedAt)}::timestamptz[]) as row`;
}

function updateHolds(holds: readonly Hold[]): RawBuilder<unknown> {
  return sql`
    update ledger_holds hold
       set held_nano_usd = change.held, posted_nano_usd = change.posted, closed_at = change.closed_at
      from unnest(${uuids(holds.map((h) => h.id))}::uuid[], ${bigints(holds.map((h) => h.held))}::bigint[],
                  ${bigints(holds.map((h) => h.posted))}::bigint[], ${holds.map(closedAt)}::timestamptz[])
        as change (id, held, posted, closed_at)
     where hold.id = change.id`;
}

function updateBudgets(accounts: readonly Account[]): RawBuilder<unknown> {
  const rows = accounts.flatMap(({ id, budget }) => (budget === null ? [] : [{ id, ...budget }]));
  const date = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));
  return sql`
    update budgets budget
       set period_start = change.period_start, period_end = change.period_end, notified_percent = change.notified
      from unnest(${uuids(rows.map((r) => r.id))}::uuid[], ${rows.map((r) => date(r.periodStartMs))}::timestamptz[],
                  ${rows.map((r) => date(r.periodEndMs))}::timestamptz[],
                  ${int8s(rows.map((r) => r.notifiedPercent))}::smallint[])
        as change (id, period_start, period_end, notified)
     where budget.id = change.id`;
}
