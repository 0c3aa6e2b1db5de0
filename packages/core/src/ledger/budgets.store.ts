import type { Reader, Tables, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type BudgetId, type HoldId, type KeyId, type OrgId } from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { sql, type RawBuilder, type Selectable } from 'kysely';
import type { OnExceeded } from './batch/accounts.ts';
import { plainArray } from './batch/sql-arrays.ts';
import type { BudgetPeriod } from './model/periods.ts';

export interface BudgetRecord {
  readonly id: BudgetId;
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly name: string;
  /** Null: the whole organisation, including work without a key. */
  readonly keyIds: readonly KeyId[] | null;
  readonly period: BudgetPeriod;
  readonly limit: NanoUsd;
  readonly spent: NanoUsd;
  readonly periodStart: Date;
  readonly periodEnd: Date | null;
  readonly thresholdsPercent: readonly number[];
  readonly onExceeded: OnExceeded;
  readonly createdAt: Date;
}

type BudgetRow = Omit<Selectable<Tables['budgets']>, 'notified_percent' | 'deleted_at' | 'is_key_limit'> &
  Pick<Selectable<Tables['ledger_accounts']>, 'balance_nano_usd'>;

function fromRow(row: BudgetRow): BudgetRecord {
  return {
    id: fromUuid('bdg', row.id),
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    name: row.name,
    keyIds: row.key_ids?.map((id) => fromUuid('key', id)) ?? null,
    period: row.period,
    limit: nanoUsd(row.limit_nano_usd),
    spent: nanoUsd(row.limit_nano_usd - row.balance_nano_usd),
    periodStart: row.period_start,
    periodEnd: row.period_end,
    thresholdsPercent: row.thresholds_percent,
    onExceeded: row.on_exceeded,
    createdAt: row.created_at,
  };
}

const columns = sql`budget.id, budget.org_id, budget.mode, budget.name, budget.key_ids::text[] as key_ids, budget.period,
  budget.limit_nano_usd, budget.period_start, budget.period_end, budget.thresholds_percent, budget.on_exceeded,
  budget.created_at, account.balance_nano_usd`;

export async function findBudget(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  id: BudgetId,
): Promise<BudgetRecord | null> {
  const { rows } = await sql<BudgetRow>`
    select ${columns} from budgets budget join ledger_accounts account on account.id = budget.id
     where budget.id = ${toUuid(id)} and budget.org_id = ${toUuid(orgId)} and budget.mode = ${mode}
       and budget.deleted_at is null
  `.execute(reader.kysely);
  return rows[0] === undefined ? null : fromRow(rows[0]);
}

export async function listBudgets(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  page: { readonly limit: number; readonly after: BudgetId | null },
): Promise<readonly BudgetRecord[]> {
  const after = page.after === null ? sql`` : sql`and budget.id > ${toUuid(page.after)}`;
  const { rows } = await sql<BudgetRow>`
    select ${columns} from budgets budget join ledger_accounts account on account.id = budget.id
     where budget.org_id = ${toUuid(orgId)} and budget.mode = ${mode} and budget.deleted_at is null ${after}
     order by budget.id limit ${page.limit + 1}
  `.execute(reader.kysely);
  return rows.map(fromRow);
}

/** Sums the limits of all budgets, including budgets of single keys. */
export async function sumLimits(reader: Reader, orgId: OrgId, mode: Mode): Promise<bigint> {
  const { rows } = await sql<{ total: string }>`
    select coalesce(sum(limit_nano_usd), 0)::text as total from budgets
     where org_id = ${toUuid(orgId)} and mode = ${mode} and deleted_at is null
  `.execute(reader.kysely);
  return BigInt(rows[0]?.total ?? '0');
}

export type NewBudgetRow = Omit<BudgetRecord, 'spent'>;

/** Inserts the budget and its limit account. The account starts at zero; a transfer sets the limit. */
export async function insertBudget(tx: Tx, budget: NewBudgetRow): Promise<void> {
  await sql`
    insert into ledger_accounts (id, kind, org_id, mode, floor_nano_usd, has_companions)
    values (${tx.ids.nextUuid()}, 'credit', ${toUuid(budget.orgId)}, ${budget.mode}, 0, true)
    on conflict (org_id, mode, kind) where kind in ('credit', 'supplier_payable')
    do update set has_companions = true
  `.execute(tx.kysely);
  const floor = budget.onExceeded === 'stop_everything' ? 0 : null;
  const keyIds = budget.keyIds === null ? null : plainArray(budget.keyIds.map(toUuid));
  await sql`
    insert into ledger_accounts (id, kind, org_id, mode, floor_nano_usd)
    values (${toUuid(budget.id)}, 'limit', ${toUuid(budget.orgId)}, ${budget.mode}, ${floor})
  `.execute(tx.kysely);
  await sql`
    insert into budgets (id, org_id, mode, name, key_ids, period, limit_nano_usd, period_start, period_end,
                         thresholds_percent, on_exceeded, created_at)
    values (${toUuid(budget.id)}, ${toUuid(budget.orgId)}, ${budget.mode}, ${budget.name}, ${keyIds}::uuid[],
            ${budget.period}, ${budget.limit}, ${budget.periodStart}, ${budget.periodEnd},
            ${budget.thresholdsPercent}::smallint[], ${budget.onExceeded}, ${budget.createdAt})
  `.execute(tx.kysely);
}

export interface BudgetChanges {
  readonly name?: string;
  readonly limit?: NanoUsd;
  readonly thresholdsPercent?: readonly number[];
  readonly onExceeded?: OnExceeded;
}

/** Locks the organisation's credit account, as every ledger batch does, and returns the budget. */
export async function lockBudget(tx: Tx, orgId: OrgId, mode: Mode, id: BudgetId) {
  await sql`
    select 1 from ledger_accounts
     where org_id = ${toUuid(orgId)} and mode = ${mode} and kind = 'credit' for update
  `.execute(tx.kysely);
  return findBudget(tx, orgId, mode, id);
}

/** If a budget that becomes `stop_everything` is already overspent, its floor is set to the overspent balance. */
export async function updateBudget(tx: Tx, orgId: OrgId, id: BudgetId, next: NewBudgetRow): Promise<void> {
  await sql`
    update budgets
       set name = ${next.name}, limit_nano_usd = ${next.limit}, thresholds_percent = ${next.thresholdsPercent}::smallint[],
           on_exceeded = ${next.onExceeded},
           notified_percent = case when limit_nano_usd < ${next.limit} then 0 else notified_percent end
     where id = ${toUuid(id)} and org_id = ${toUuid(orgId)}
  `.execute(tx.kysely);
  await sql`
    update ledger_accounts
       set floor_nano_usd = case when ${next.onExceeded} = 'stop_everything'
                                 then least(0, balance_nano_usd - held_nano_usd) end
     where id = ${toUuid(id)} and org_id = ${toUuid(orgId)}
  `.execute(tx.kysely);
}

export async function markBudgetDeleted(tx: Tx, orgId: OrgId, mode: Mode, id: BudgetId): Promise<boolean> {
  const { rows } = await sql`
    update budgets set deleted_at = ${tx.clock.now()}
     where id = ${toUuid(id)} and org_id = ${toUuid(orgId)} and mode = ${mode} and deleted_at is null
    returning id
  `.execute(tx.kysely);
  return rows.length > 0;
}

/** Adds the key that replaces another to its budgets, so that rotating a key does not refill a budget. */
export async function addKeyToBudgets(tx: Tx, orgId: OrgId, from: KeyId, to: KeyId): Promise<number> {
  const { rows } = await sql`
    update budgets set key_ids = array_append(key_ids, ${toUuid(to)}::uuid)
     where org_id = ${toUuid(orgId)} and ${toUuid(from)} = any(key_ids) and not ${toUuid(to)} = any(key_ids)
       and deleted_at is null
    returning id
  `.execute(tx.kysely);
  return rows.length;
}

/**
 * Whether these holds could be spent beyond a refusing budget that was created or lowered after them: an organisation
 * budget in which the first hold has no part, or a budget whose holds exceed its remaining amount.
 */
export async function holdsExceedBudgets(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  [first, ...others]: readonly [HoldId, ...HoldId[]],
): Promise<boolean> {
  const { rows } = await sql<{ beyond: boolean }>`
    select exists (
      select from budgets budget join ledger_accounts account on account.id = budget.id
       where budget.org_id = ${toUuid(orgId)} and budget.mode = ${mode} and budget.deleted_at is null
         and budget.on_exceeded <> 'notify'
         and ((budget.key_ids is null and not exists (
                select from ledger_hold_parts part
                 where part.hold_id = ${toUuid(first)} and part.account_id = budget.id))
              or (account.balance_nano_usd < account.held_nano_usd and exists (
                select from ledger_hold_parts part
                 where part.hold_id = any(${[first, ...others].map(toUuid)}::uuid[])
                   and part.account_id = budget.id and part.held_nano_usd > 0)))) as beyond
  `.execute(reader.kysely);
  return rows[0]?.beyond ?? false;
}

/** Counts budgets that are not key limits; those are bounded by the number of keys. */
export async function countOwnBudgets(reader: Reader, orgId: OrgId, mode: Mode): Promise<number> {
  const row = await reader.kysely
    .selectFrom('budgets')
    .select((of) => of.fn.countAll<bigint>().as('count'))
    .where('org_id', '=', toUuid(orgId))
    .where('mode', '=', mode)
    .where('deleted_at', 'is', null)
    .where('is_key_limit', '=', false)
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

export async function markBudgetAsKeyLimit(tx: Tx, orgId: OrgId, id: BudgetId): Promise<void> {
  await tx.kysely
    .updateTable('budgets')
    .set({ is_key_limit: true })
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .execute();
}

/** A subquery for the key ids whose limit the budget is; null if the budget is not a key limit. */
export function keysLimitedBy(orgId: OrgId, id: BudgetId): RawBuilder<unknown> {
  return sql`(select key_ids from budgets
     where budgets.org_id = ${toUuid(orgId)} and budgets.id = ${toUuid(id)} and budgets.is_key_limit)::uuid[]`;
}

/**
 * A subquery for the ids of the budgets, as text, that can refuse requests of a live key. `key` names a relation with
 * the columns id, org_id and mode. Budgets of the whole organisation and budgets that only notify are left out.
 */
export function enforcedBudgetIds(key: string): RawBuilder<string[]> {
  const column = (name: string) => sql.ref(`${key}.${name}`);
  return sql<string[]>`array(select budget.id::text from budgets budget
                  where budget.org_id = ${column('org_id')} and budget.mode = ${column('mode')} and ${column('mode')} = 'live'
                    and budget.deleted_at is null and budget.on_exceeded <> 'notify'
                    and ${column('id')} = any (budget.key_ids)
                  order by budget.id)`;
}
