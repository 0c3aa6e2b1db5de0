import type { Reader } from '@millrace/platform/db';
import { toUuid, type OrgId } from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { sql, type RawBuilder } from 'kysely';
import { inPeriod, type TransferPeriod } from './transfer-reports.store.ts';

/**
 * Sums the earnings of suppliers. Callers pass the resources that the supplier's meters ran for in the period, as a
 * query with the columns org_id, cause_kind and cause_id.
 */

/**
 * The transfers of the period that changed a supplier's earnings. Entries deliberately have no index by account: they
 * are found through the resources of the supplier's meters, and through the few transfers that undo others. For those,
 * `earned_id` and `earned_at` belong to the undone transfer. `meter` is null if no meter posted the transfer.
 */
function earningTransfersIn(supplier: OrgId, period: TransferPeriod, resources: RawBuilder<unknown>) {
  const isLive = sql`t.mode = 'live' and ${inPeriod(period)}`;
  return sql`
    payable as materialized (
      select id from ledger_accounts
       where org_id = ${toUuid(supplier)} and mode = 'live' and kind = 'supplier_payable'
    ),
    things as materialized (${resources}
    ),
    -- "offset 0" forces one index look-up per resource and transfer, regardless of the number of other rows.
    moved as materialized (
      select posted.* from things m cross join lateral (
        select t.id, t.cause_id, t.occurred_at, t.id as earned_id, t.occurred_at as earned_at, ${meterIn(sql`t`)} as meter,
               case t.kind when 'charge' then 1 else -1 end * coalesce((t.usage ->> 'gpuMs')::numeric, 0) as gpu_ms
          from all_ledger_transfers t
         where t.org_id = m.org_id and t.cause_kind = m.cause_kind and t.cause_id = m.cause_id
           and t.idempotency_key > m.cause_kind || ':' || m.cause_id || ':meter:' collate "C"
           and t.idempotency_key < m.cause_kind || ':' || m.cause_id || ':meter;' collate "C"
           and t.kind in ('charge', 'credit') and ${isLive} offset 0) as posted
       union all
      select t.id, undone.cause_id, t.occurred_at, undone.id, undone.occurred_at, undone.meter, 0
        from ledger_transfers t cross join lateral (
          select source.id, source.cause_id, source.occurred_at, ${meterIn(sql`source`)} as meter
            from ledger_transfers source
           where source.id = t.reverses and source.kind <> 'payout' offset 0) as undone
       where t.kind in ('refund', 'reversal') and ${isLive}
         and (select count(*) from ledger_entries e
               where e.transfer_id = t.id and e.account_id = (select id from payable)) > 0
    )`;
}

/** The meter and resource that a transfer was posted for; null for other transfers. */
const meterIn = (transfer: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`substring(${transfer}.idempotency_key from '^.*:meter:[^:]+')`;

/** Postings less credits and refunds. Columns: cause_id, day (UTC), gpu_ms, earned, fee. */
export function earningsByResource(
  supplier: OrgId,
  period: TransferPeriod,
  resources: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`
    with ${earningTransfersIn(supplier, period, resources)},
    fees as materialized (
      select array_agg(id) as ids from ledger_accounts
       where kind = 'platform_fee' and mode = 'live' and org_id is null
    ),
    legs as (
      select moved.cause_id, date_trunc('day', moved.occurred_at, 'UTC') as day, moved.gpu_ms, coalesce(entered.fee, 0) as fee, coalesce(entered.earned, 0) as earned
        from moved cross join lateral (
          select sum(e.amount_nano_usd) filter (where e.account_id = any ((select ids from fees)::uuid[])) as fee,
                 sum(e.amount_nano_usd) filter (where e.account_id = (select id from payable)) as earned
            from all_ledger_entries e where e.transfer_id = moved.id offset 0) as entered
       -- Some meters of a resource are not shared with the supplier, such as its disk while it is off.
       where entered.fee is not null or entered.earned is not null
    )
    select cause_id, day, sum(gpu_ms) as gpu_ms, sum(earned) as earned, sum(fee) as fee from legs
     group by cause_id, day`;
}

/**
 * Sums the earnings that have not matured yet. Credits of a meter reduce its newest earnings first. Credits beyond the
 * period's earnings reduce matured earnings, so a negative running total is not carried over.
 */
export async function sumMaturingEarnings(
  reader: Reader,
  supplier: OrgId,
  period: TransferPeriod,
  resources: RawBuilder<unknown>,
): Promise<NanoUsd> {
  const { rows } = await sql<{ maturing: string }>`
    with ${earningTransfersIn(supplier, period, resources)},
    earnings as (
      select moved.meter, entered.earned,
             sum(entered.earned) over (partition by moved.meter order by moved.earned_id, moved.id) as total
        from moved cross join lateral (
          select sum(e.amount_nano_usd) as earned from all_ledger_entries e
           where e.transfer_id = moved.id and e.account_id = (select id from payable) offset 0) as entered
       where moved.meter is not null and moved.earned_at >= ${period.from} and entered.earned is not null
    ),
    by_meter as (select sum(earned) - least(0, min(total)) as maturing from earnings group by meter)
    select coalesce(sum(maturing), 0)::text as maturing from by_meter
  `.execute(reader.kysely);
  return nanoUsd(BigInt(rows[0]?.maturing ?? 0));
}
