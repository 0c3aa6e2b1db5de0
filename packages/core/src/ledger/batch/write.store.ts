import { defineStatement, runStatement, type PreparedStatement, type Tx } from '@millrace/platform/db';
import type { Account } from './accounts.ts';
import type { Hold, NewEntry, NewTransfer, WorkingSet } from './working-set.ts';
import { instants, plainArray, texts } from './sql-arrays.ts';

/** Writes the working set in one statement, so that the database checks the batch as a whole. */

interface StatementPart {
  readonly name: string;
  /** `$n` is the n-th value of this clause. */
  readonly text: string;
}

const updateAccounts: StatementPart = {
  name: 'changed',
  text: `
    update ledger_accounts account
       set balance_nano_usd = change.balance, held_nano_usd = change.held, floor_nano_usd = change.floor,
           entry_count = change.entry_count, has_companions = change.has_companions,
           owed_nano_usd = change.owed, written_off_nano_usd = change.written_off
      from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::boolean[],
                  $7::bigint[], $8::bigint[])
        as change (id, balance, held, floor, entry_count, has_companions, owed, written_off)
     where account.id = change.id`,
};

const insertAccounts: StatementPart = {
  name: 'opened',
  text: `
    insert into ledger_accounts (id, kind, org_id, mode, balance_nano_usd, floor_nano_usd, entry_count, held_nano_usd,
                                 priority, expires_at)
    select * from unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[],
                         $8::bigint[], $9::smallint[], $10::timestamptz[])`,
};

const insertTransfers: StatementPart = {
  name: 'moved',
  text: `
    insert into ledger_transfers (id, org_id, mode, kind, idempotency_key, cause_kind, cause_id, amount_nano_usd,
                                  balance_after_nano_usd, hold_id, reverses, key_id, description, usage, occurred_at)
    select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[],
                         $9::bigint[], $10::uuid[], $11::uuid[], $12::uuid[], $13::text[], $14::text[]::jsonb[],
                         $15::timestamptz[])`,
};

const insertEntries: StatementPart = {
  name: 'entered',
  text: `
    insert into ledger_entries (transfer_id, account_id, amount_nano_usd, account_seq, balance_after_nano_usd)
    select * from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[])`,
};

const insertHolds: StatementPart = {
  name: 'made',
  text: `
    insert into ledger_holds (id, org_id, mode, idempotency_key, cause_kind, cause_id, key_id, held_nano_usd,
                              posted_nano_usd, closed_at, created_at)
    select row.*, $11::timestamptz
      from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::bigint[],
                  $9::bigint[], $10::timestamptz[]) as row`,
};

const updateHolds: StatementPart = {
  name: 'kept',
  text: `
    update ledger_holds hold
       set held_nano_usd = change.held, posted_nano_usd = change.posted, closed_at = change.closed_at
      from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::timestamptz[]) as change (id, held, posted, closed_at)
     where hold.id = change.id`,
};

const upsertHoldAmounts: StatementPart = {
  name: 'parted',
  text: `
    insert into ledger_hold_parts (hold_id, account_id, held_nano_usd)
    select * from unnest($1::uuid[], $2::uuid[], $3::bigint[])
    on conflict (hold_id, account_id) do update set held_nano_usd = excluded.held_nano_usd`,
};

const updateBudgets: StatementPart = {
  name: 'counted',
  text: `
    update budgets budget
       set period_start = change.period_start, period_end = change.period_end, notified_percent = change.notified
      from unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[], $4::smallint[])
        as change (id, period_start, period_end, notified)
     where budget.id = change.id`,
};

const statements = new Map<string, PreparedStatement>();

function statementOf(clauses: readonly StatementPart[]): PreparedStatement {
  // The driver requires names below 64 characters.
  const name = `ledger ${clauses.map((part) => part.name).join(' ')}`;
  const known = statements.get(name);
  if (known !== undefined) return known;
  let before = 0;
  const texts = clauses.map((part) => {
    const first = before;
    before += Math.max(...Array.from(part.text.matchAll(/\$(\d+)/g), ([, n]) => Number(n)));
    return `${part.name} as (${part.text.replaceAll(/\$(\d+)/g, (_, n: string) => `$${first + Number(n)}`)})`;
  });
  const statement = defineStatement(name, `with ${texts.join(', ')} select 1`);
  statements.set(name, statement);
  return statement;
}

const isNew = (row: Account | Hold): boolean => row.isNew;
const isStored = (row: Account | Hold): boolean => !row.isNew;

export async function writeWorkingSet(tx: Tx, slice: WorkingSet): Promise<void> {
  const accounts = [...slice.accounts.values()].filter((account) => account.touched);
  const holds = [...slice.holds.values()].filter((hold) => hold.touched);
  const now = new Date(slice.nowMs);
  const clauses: [StatementPart, readonly unknown[]][] = [];
  const add = <Row>(
    part: StatementPart,
    rows: readonly Row[],
    values: (rows: readonly Row[]) => readonly unknown[],
  ): void => {
    if (rows.length > 0) clauses.push([part, values(rows)]);
  };
  add(updateAccounts, accounts.filter(isStored), updateAccountsValues);
  add(insertAccounts, accounts.filter(isNew), insertAccountsValues);
  add(insertTransfers, slice.newTransfers, insertTransfersValues);
  add(insertHolds, holds.filter(isNew), (rows) => [...insertHoldsValues(rows), now]);
  add(updateHolds, holds.filter(isStored), updateHoldsValues);
  add(upsertHoldAmounts, holds.flatMap(holdAmountsOf), upsertHoldAmountsValues);
  const budgets = [...slice.accounts.values()].filter((account) => account.budget?.changed === true);
  add(updateBudgets, budgets, updateBudgetsValues);
  add(insertEntries, slice.newEntries, insertEntriesValues);
  if (clauses.length === 0) return;
  const values = clauses.flatMap(([, some]) => some);
  await runStatement(tx, statementOf(clauses.map(([part]) => part)), values);
}

const updateAccountsValues = (rows: readonly Account[]): readonly unknown[] => [
  plainArray(rows.map((row) => row.id)),
  plainArray(rows.map((row) => row.balance)),
  plainArray(rows.map((row) => row.held)),
  plainArray(rows.map((row) => row.floor)),
  plainArray(rows.map((row) => row.entryCount)),
  plainArray(rows.map((row) => row.hasCompanions)),
  plainArray(rows.map((row) => row.owed)),
  plainArray(rows.map((row) => row.writtenOff)),
];

const dateOf = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));

const insertAccountsValues = (rows: readonly Account[]): readonly unknown[] => [
  plainArray(rows.map((row) => row.id)),
  plainArray(rows.map((row) => row.kind)),
  plainArray(rows.map((row) => row.orgId)),
  plainArray(rows.map((row) => row.mode)),
  plainArray(rows.map((row) => row.balance)),
  plainArray(rows.map((row) => row.floor)),
  plainArray(rows.map((row) => row.entryCount)),
  plainArray(rows.map((row) => row.held)),
  plainArray(rows.map((row) => row.priority)),
  rows.map((row) => dateOf(row.expiresAtMs)),
];

const insertTransfersValues = (rows: readonly NewTransfer[]): readonly unknown[] => [
  plainArray(rows.map((row) => row.id)),
  plainArray(rows.map((row) => row.orgId)),
  plainArray(rows.map((row) => row.mode)),
  plainArray(rows.map((row) => row.kind)),
  texts(rows.map((row) => row.key)),
  texts(rows.map((row) => row.causeKind)),
  texts(rows.map((row) => row.causeId)),
  plainArray(rows.map((row) => row.amount)),
  plainArray(rows.map((row) => row.balanceAfter)),
  plainArray(rows.map((row) => row.holdId)),
  plainArray(rows.map((row) => row.reverses)),
  plainArray(rows.map((row) => row.keyId)),
  texts(rows.map((row) => row.description)),
  texts(rows.map((row) => (row.usage === null ? null : JSON.stringify(row.usage)))),
  instants(rows.map((row) => row.occurredAtMs)),
];

const insertEntriesValues = (rows: readonly NewEntry[]): readonly unknown[] => [
  plainArray(rows.map((row) => row.transferId)),
  plainArray(rows.map((row) => row.accountId)),
  plainArray(rows.map((row) => row.amount)),
  plainArray(rows.map((row) => row.seq)),
  plainArray(rows.map((row) => row.balanceAfter)),
];

const insertHoldsValues = (rows: readonly Hold[]): readonly unknown[] => [
  plainArray(rows.map((row) => row.id)),
  plainArray(rows.map((row) => row.orgId)),
  plainArray(rows.map((row) => row.mode)),
  texts(rows.map((row) => row.key)),
  texts(rows.map((row) => row.causeKind)),
  texts(rows.map((row) => row.causeId)),
  plainArray(rows.map((row) => row.keyId)),
  plainArray(rows.map((row) => row.held)),
  plainArray(rows.map((row) => row.posted)),
  rows.map((row) => dateOf(row.closedAtMs)),
];

const updateHoldsValues = (rows: readonly Hold[]): readonly unknown[] => [
  plainArray(rows.map((row) => row.id)),
  plainArray(rows.map((row) => row.held)),
  plainArray(rows.map((row) => row.posted)),
  rows.map((row) => dateOf(row.closedAtMs)),
];

interface HoldPart {
  readonly holdId: string;
  readonly accountId: string;
  readonly held: bigint;
}

const holdAmountsOf = (hold: Hold): readonly HoldPart[] =>
  Array.from(hold.amounts, ([accountId, held]) => ({ holdId: hold.id, accountId, held }));

const upsertHoldAmountsValues = (rows: readonly HoldPart[]): readonly unknown[] => [
  plainArray(rows.map((row) => row.holdId)),
  plainArray(rows.map((row) => row.accountId)),
  plainArray(rows.map((row) => row.held)),
];

const updateBudgetsValues = (rows: readonly Account[]): readonly unknown[] => [
  plainArray(rows.map((row) => row.id)),
  rows.map((row) => dateOf(row.budget?.periodStartMs ?? null)),
  rows.map((row) => dateOf(row.budget?.periodEndMs ?? null)),
  plainArray(rows.map((row) => row.budget?.notifiedPercent ?? 0)),
];
