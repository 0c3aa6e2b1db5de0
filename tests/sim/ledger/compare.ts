import type { Client } from 'pg';
import { fromUuid, toUuid, type BudgetId } from '@millrace/platform/ids';
import { minBigint, type Account, type Budget } from './accounts.ts';
import type { Oracle } from './oracle.ts';

/** Compares the database with the oracle. Each function returns the first difference, or undefined. */

const same = (what: string, is: bigint | null, expected: bigint | null): string | null =>
  is === expected ? null : `${what} is ${is} and must be ${expected}`;

/** Organisations whose commands the oracle knows. Lease tenants are checked in lease-invariants.ts. */
const organisationsOf = (oracle: Oracle): string[] =>
  Array.from(oracle.tenants.values(), ({ orgId }) => toUuid(orgId));

interface AccountRow {
  id: string;
  kind: string;
  org_id: string | null;
  mode: string;
  balance: string;
  held: string;
  floor: string | null;
  frozen: boolean;
  owed: string;
  limit_nano_usd: string | null;
  period_end: Date | null;
}

export async function compareAccounts(client: Client, oracle: Oracle): Promise<string | undefined> {
  const { rows } = await client.query<AccountRow>(
    `select account.id, kind, account.org_id, account.mode, balance_nano_usd as balance, held_nano_usd as held,
            floor_nano_usd as floor, frozen_at is not null as frozen, owed_nano_usd as owed, limit_nano_usd, period_end
       from ledger_accounts account left join budgets on budgets.id = account.id where account.org_id = any($1)`,
    [organisationsOf(oracle)],
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const tenant of oracle.tenants.values()) {
    oracle.rollBudgets(tenant);
    for (const account of [...tenant.money, tenant.earned, ...tenant.budgets]) {
      const uuid = account.what === 'budget' ? uuidOf(account) : account.id;
      const row = byId.get(uuid);
      if (row === undefined) return `${account.name} (${uuid}) is not in the database`;
      byId.delete(uuid);
      const difference =
        account.what === 'budget'
          ? compareBudget(row, account as Budget, oracle.nowMs)
          : (same(`the balance of ${account.name}`, BigInt(row.balance), account.balance) ??
            same(
              `the floor of ${account.name}`,
              row.floor === null ? null : BigInt(row.floor),
              account.what === 'earned' ? minBigint(0n, account.balance - account.held) : account.floor,
            ));
      if (difference !== null) return difference;
      const held = same(`the held amount of ${account.name}`, BigInt(row.held), account.held);
      if (held !== null) return held;
      const owed = account.what === 'credit' ? tenant.owed : 0n;
      const debt = same(`the debt of ${account.name}`, BigInt(row.owed), owed);
      if (debt !== null) return debt;
      if (account.what === 'credit' && row.frozen !== tenant.frozen)
        return `${account.name} is frozen in only one of ledger and oracle`;
    }
  }
  const [orphan] = byId.values();
  return orphan === undefined
    ? undefined
    : `the database has a ${orphan.kind} account that the oracle does not have`;
}

const uuidOf = (account: Account): string => toUuid(account.id as BudgetId);

/** The ledger starts a budget's next period when the budget is next used; until then the row shows the last period. */
function compareBudget(row: AccountRow, budget: Budget, nowMs: number): string | null {
  const isOver = !budget.removed && row.period_end !== null && row.period_end.getTime() <= nowMs;
  const limit = same(`the limit of ${budget.name}`, BigInt(row.limit_nano_usd ?? 0), budget.limit);
  if (limit !== null || budget.removed) return limit;
  if (isOver) return null;
  return (
    same(`the remainder of ${budget.name}`, BigInt(row.balance), budget.balance) ??
    same(`the floor of ${budget.name}`, row.floor === null ? null : BigInt(row.floor), budget.floor)
  );
}

/** Compares each operator account as the sum of its rows. */
export async function compareSystem(client: Client, oracle: Oracle): Promise<string | undefined> {
  const { rows } = await client.query<{ name: string; balance: string }>(
    `select concat_ws(' ', kind, product, mode) as name, sum(balance_nano_usd)::bigint as balance
       from ledger_accounts where org_id is null and kind <> 'limit_contra' group by 1`,
  );
  for (const { name, balance } of rows) {
    const difference = same(name, BigInt(balance), oracle.system.get(name)?.balance ?? 0n);
    if (difference !== null) return difference;
  }
  return undefined;
}

export async function compareHolds(client: Client, oracle: Oracle): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string; held: string; posted: string; closed: boolean }>(
    `select id, held_nano_usd as held, posted_nano_usd as posted, closed_at is not null as closed from ledger_holds
      where org_id = any($1)`,
    [organisationsOf(oracle)],
  );
  if (rows.length !== oracle.holdsByKey.size) {
    return `there are ${rows.length} holds and must be ${oracle.holdsByKey.size}`;
  }
  for (const row of rows) {
    const hold = oracle.holds.get(fromUuid('hld', row.id));
    if (hold === undefined) return `the oracle does not have hold ${row.id}`;
    const difference =
      same(`the held amount of hold ${row.id}`, BigInt(row.held), hold.held) ??
      same(`the posted amount of hold ${row.id}`, BigInt(row.posted), hold.posted);
    if (difference !== null) return difference;
    if (row.closed !== hold.closed) return `hold ${row.id} is closed in only one of ledger and oracle`;
  }
  return undefined;
}

/** Debt repayments are left out because no result contains them; balances show them. */
export async function compareTransfers(client: Client, oracle: Oracle): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string; kind: string; amount: string }>(
    `select id, kind, amount_nano_usd as amount from ledger_transfers
      where kind <> 'budget' and cause_kind <> 'clawback_debt' and org_id = any($1)`,
    [organisationsOf(oracle)],
  );
  if (rows.length !== oracle.recorded) {
    return `there are ${rows.length} transfers and must be ${oracle.recorded}`;
  }
  for (const row of rows) {
    const transfer = oracle.transfersById.get(fromUuid('trf', row.id));
    if (transfer === undefined) return `the oracle does not have transfer ${row.id}`;
    const difference = same(`transfer ${row.id} (${row.kind})`, BigInt(row.amount), transfer.amount);
    if (difference !== null) return difference;
  }
  return undefined;
}

/** Invariants that SQL can check without the oracle. */
export const rules: Readonly<Record<string, string>> = {
  'all accounts of a mode sum to zero': `
    select mode || ': ' || sum(balance_nano_usd) from ledger_accounts group by mode having sum(balance_nano_usd) <> 0`,
  'no balance is below its floor': `
    select id::text from ledger_accounts where balance_nano_usd - held_nano_usd < floor_nano_usd`,
  'no account with a debt has free credit': `
    select id::text from ledger_accounts where owed_nano_usd > 0 and balance_nano_usd > held_nano_usd`,
  'the held amount of each account is the sum of its holds': `
    select account.id::text
      from ledger_accounts account
      left join (select account_id, sum(held_nano_usd) as held from ledger_hold_parts group by 1) as parts
        on parts.account_id = account.id
     where account.held_nano_usd <> coalesce(parts.held, 0)`,
};

/** Slow: these invariants read all entries. */
export const deepRules: Readonly<Record<string, string>> = {
  'every transfer sums to zero': `
    select transfer_id::text from ledger_entries group by transfer_id having sum(amount_nano_usd) <> 0`,
  'every balance is the sum of its entries': `
    select account.id::text
      from ledger_accounts account
      left join (select account_id, sum(amount_nano_usd) as balance, count(*) as entries from ledger_entries group by 1)
             as entered on entered.account_id = account.id
     where account.balance_nano_usd <> coalesce(entered.balance, 0)
        or account.entry_count <> coalesce(entered.entries, 0)`,
  'no transfer is without entries': `
    select id::text from ledger_transfers t where not exists (select 1 from ledger_entries where transfer_id = t.id)`,
};

export async function findViolation(client: Client, rule: string): Promise<string | undefined> {
  const { rows } = await client.query<Record<string, string>>(`${rule} limit 1`);
  const [row] = rows;
  return row === undefined ? undefined : String(Object.values(row)[0]);
}

export async function compareBudgetNotices(client: Client, oracle: Oracle): Promise<string | undefined> {
  const { rows } = await client.query<{ event: string; times: number }>(
    `select type || ' ' || resource_id as event, count(*)::int as times from outbox
      where type like 'budget.%' and org_id = any($1) group by 1`,
    [organisationsOf(oracle)],
  );
  const emitted = new Map(rows.map(({ event, times }) => [event, times]));
  for (const [event, times] of oracle.emitted) {
    if (emitted.get(event) !== times)
      return `${event} was emitted ${emitted.get(event) ?? 0} times and must be ${times}`;
  }
  return emitted.size === oracle.emitted.size
    ? undefined
    : 'a budget event was emitted that the oracle does not have';
}
