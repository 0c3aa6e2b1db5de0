import type { Reader } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type OrgId, type TransferId } from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { sql, type RawBuilder } from 'kysely';
import { firstIdAfter, firstIdFrom } from './model/id-ranges.ts';
import type { MoneyCause } from './model/ledger.ts';

/** Sums and lists of transfers for reports of other features, with SQL fragments to compose them. */

/** Sums all top-ups except those of one cause. */
export async function sumTopUps(db: Reader, orgId: OrgId, mode: Mode, without: MoneyCause): Promise<NanoUsd> {
  const row = await db.kysely
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

export async function sumRefunds(reader: Reader, orgId: OrgId, transferId: TransferId): Promise<NanoUsd> {
  const row = await reader.kysely
    .selectFrom('ledger_transfers')
    .select(sql<string>`coalesce(sum(amount_nano_usd), 0)::text`.as('total'))
    .where('org_id', '=', toUuid(orgId))
    .where('reverses', '=', toUuid(transferId))
    .executeTakeFirstOrThrow();
  return nanoUsd(BigInt(row.total));
}

export async function readFirstTransferTime(reader: Reader): Promise<Date | null> {
  const row = await reader.kysely
    .selectFrom('ledger_transfers')
    .select('occurred_at')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  return row?.occurred_at ?? null;
}

export interface TransferPeriod {
  readonly from: Date;
  /** Exclusive. */
  readonly until: Date;
}

/** Whether transfer `t` is in the period. The ids let the index find it; the exact times decide. */
export function inPeriod({ from, until }: TransferPeriod): RawBuilder<unknown> {
  return sql`t.id >= ${firstIdFrom(from)} and t.id < ${firstIdAfter(until)}
             and t.occurred_at >= ${from} and t.occurred_at < ${until}`;
}

type ModePeriod = TransferPeriod & { readonly mode: Mode };

export function chargesIn(orgId: OrgId, period: ModePeriod): RawBuilder<unknown> {
  return sql`(
    select * from all_ledger_transfers t
     where t.org_id = ${toUuid(orgId)} and t.mode = ${period.mode} and t.kind in ('charge', 'credit')
       and ${inPeriod(period)})`;
}

/**
 * The costs of a wallet in a period: charges, credits, and their refunds and reversals. Columns: cost, key_id;
 * is_undone for a refund or reversal; sign, 1 for a charge and -1 for a credit; cause_kind, cause_id and usage of the
 * (undone) charge or credit; is_correction if the undone one is of an earlier month.
 */
export function costsIn(orgId: OrgId, period: ModePeriod): RawBuilder<unknown> {
  return sql`
      select -t.amount_nano_usd as cost, t.key_id, source.id is not null as is_undone,
             case t.kind when 'charge' then 1 when 'credit' then -1 else 0 end as sign,
             coalesce(source.cause_kind, t.cause_kind) as cause_kind, coalesce(source.cause_id, t.cause_id) as cause_id,
             coalesce(source.usage, t.usage) as usage,
             coalesce(date_trunc('month', source.occurred_at at time zone 'UTC')
                        < date_trunc('month', t.occurred_at at time zone 'UTC'), false) as is_correction
        from all_ledger_transfers t
        left join ledger_transfers source on source.id = t.reverses
       where t.mode = ${period.mode} and t.org_id = ${toUuid(orgId)} and ${inPeriod(period)}
         and (t.kind in ('charge', 'credit')
              or t.kind in ('refund', 'reversal') and source.kind in ('charge', 'credit'))`;
}

export function hadCostsIn(column: string, period: TransferPeriod): RawBuilder<boolean> {
  return sql<boolean>`exists (select from ledger_transfers t
                        where t.mode = 'live' and t.org_id = ${sql.ref(column)} and ${inPeriod(period)}
                          and t.kind in ('charge', 'credit', 'refund', 'reversal'))`;
}

export function hasCause(column: string, cause: MoneyCause): RawBuilder<boolean> {
  return sql<boolean>`exists (select from all_ledger_transfers transfer
     where transfer.id = ${sql.ref(column)} and transfer.cause_kind = ${cause.kind} and transfer.cause_id = ${cause.id})`;
}
