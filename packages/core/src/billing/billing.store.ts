import type { Reader, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type BudgetId, type OrgId, type TransferId } from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { sql } from 'kysely';
import type { MoneyCause } from '../ledger/index.ts';

/** What billing keeps beside the ledger, and what it reads of it that nobody else asks for. */

export async function findFundedAt(reader: Reader, orgId: OrgId): Promise<Date | null> {
  const row = await reader.kysely
    .selectFrom('organisations')
    .select('funded_at')
    .where('id', '=', toUuid(orgId))
    .executeTakeFirst();
  return row?.funded_at ?? null;
}

/** Takes the organisation's turn: two deposits at once are added up one after the other. */
export async function lockFundedAt(tx: Tx, orgId: OrgId): Promise<Date | null> {
  const row = await tx.kysely
    .selectFrom('organisations')
    .select('funded_at')
    .where('id', '=', toUuid(orgId))
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row?.funded_at ?? null;
}

export async function setFundedAt(tx: Tx, orgId: OrgId, at: Date): Promise<void> {
  await tx.kysely
    .updateTable('organisations')
    .set({ funded_at: at })
    .where('id', '=', toUuid(orgId))
    .where('funded_at', 'is', null)
    .execute();
}

/** What was paid in so far, without what this cause has paid in. */
export async function sumTopUps(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  without: MoneyCause,
): Promise<NanoUsd> {
  const row = await reader.kysely
    .selectFrom('ledger_transfers')
    .select(sql<string>`coalesce(sum(amount_nano_usd), 0)::text`.as('total'))
    .where('org_id', '=', toUuid(orgId))
    .where('mode', '=', mode)
    .where('kind', '=', 'top_up')
    .where(sql<boolean>`(cause_kind, cause_id) <> (${without.kind}, ${without.id})`)
    .executeTakeFirstOrThrow();
  return nanoUsd(BigInt(row.total));
}

export interface Deposit {
  readonly id: TransferId;
  readonly amount: NanoUsd;
  readonly source: string;
  readonly occurredAt: Date;
}

/** Payments and grants, newest first. */
export async function listDeposits(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  limit: number,
): Promise<readonly Deposit[]> {
  const rows = await reader.kysely
    .selectFrom('ledger_transfers')
    .select(['id', 'kind', 'cause_kind', 'amount_nano_usd', 'occurred_at'])
    .where('org_id', '=', toUuid(orgId))
    .where('mode', '=', mode)
    .where('kind', 'in', ['top_up', 'grant'])
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    id: fromUuid('trf', row.id),
    amount: nanoUsd(row.amount_nano_usd),
    source: row.kind === 'grant' ? 'grant' : row.cause_kind,
    occurredAt: row.occurred_at,
  }));
}

/** What of a charge was given back so far. */
export async function sumRefunds(reader: Reader, orgId: OrgId, transferId: TransferId): Promise<NanoUsd> {
  const row = await reader.kysely
    .selectFrom('ledger_transfers')
    .select(sql<string>`coalesce(sum(amount_nano_usd), 0)::text`.as('total'))
    .where('org_id', '=', toUuid(orgId))
    .where('reverses', '=', toUuid(transferId))
    .executeTakeFirstOrThrow();
  return nanoUsd(BigInt(row.total));
}

/** How many budgets the organisation has made itself; the limits of its keys are bounded by the keys. */
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

/** Marks a budget as the limit of a key. */
export async function markBudgetAsKeyLimit(tx: Tx, orgId: OrgId, id: BudgetId): Promise<void> {
  await tx.kysely
    .updateTable('budgets')
    .set({ is_key_limit: true })
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .execute();
}

/** True while a key that was created with this budget as its limit can still be used. */
export async function isLimitOfActiveKey(tx: Tx, orgId: OrgId, id: BudgetId): Promise<boolean> {
  const row = await tx.kysely
    .selectFrom('budgets')
    .innerJoin('api_keys', (join) =>
      join
        .onRef('api_keys.org_id', '=', 'budgets.org_id')
        .on(sql<boolean>`api_keys.id = any (budgets.key_ids)`)
        .on('api_keys.revoked_at', 'is', null),
    )
    .select('api_keys.id')
    .where('budgets.org_id', '=', toUuid(orgId))
    .where('budgets.id', '=', toUuid(id))
    .where('budgets.is_key_limit', '=', true)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
