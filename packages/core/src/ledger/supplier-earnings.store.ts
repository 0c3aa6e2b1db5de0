import type { Reader } from '@millrace/platform/db';
import { toUuid, type OrgId } from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { sql, type RawBuilder } from 'kysely';
import { inPeriod, type TransferPeriod } from './transfer-reports.store.ts';

/**
 * What transfers earned a supplier. Callers name the resources that its meters ran for in the period, as a query with the columns org_id,
 * cause_kind and cause_id.
 */

/**
 * The transfers of the period that changed what a supplier earned. The entries of a supplier's account cannot be looked up by the
 * account, on purpose: they are found through the resources that its meters run for, and through the few transfers that undo others.
 * `earned_id` and `earned_at` are of the transfer that is undone, where the transfer undoes one; `meter` is null where no meter posted it.
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
    -- One look at the index for each thing and each transfer, however many others there are: the offset keeps it so.
    moved as materialized (
      select posted.* from things m cross join lateral (
        select t.id, t.cause_id, t.occurred_at, t.id as earned_id, t.occurred_at as earned_at, ${meterIn(sql`t`)} as meter,
               case t.kind when 'charge' then 1 else -1 end * coalesce((t.usage ->> 'gpuMs')::numeric, 0) as gpu_ms
          from ledger_transfers t
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

/** The meter that a transfer was posted for, with its thing; null for other transfers. */
const meterIn = (transfer: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`substring(${transfer}.idempotency_key from '^.*:meter:[^:]+')`;

/**
 * By resource and day (UTC), what was posted in the period, less what was given back or refunded in it. Columns: cause_id, day, gpu_ms,
 * earned, fee.
 */
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
            from ledger_entries e where e.transfer_id = moved.id offset 0) as entered
       -- A thing may have meters whose money is not shared, such as that of its disk while it is off.
       where entered.fee is not null or entered.earned is not null
    )
    select cause_id, day, sum(gpu_ms) as gpu_ms, sum(earned) as earned, sum(fee) as fee from legs
     group by cause_id, day`;
}

/**
 * What meters earned the supplier in a period that has not matured. Time that a meter gives back reduces the meter's newest earnings
 * first. If it exceeds those of the period, the excess reduces matured earnings: so a running total below zero is not carried over.
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
          select sum(e.amount_nano_usd) as earned from ledger_entries e
           where e.transfer_id = moved.id and e.account_id = (select id from payable) offset 0) as entered
       where moved.meter is not null and moved.earned_at >= ${period.from} and entered.earned is not null
    ),
    by_meter as (select sum(earned) - least(0, min(total)) as maturing from earnings group by meter)
    select coalesce(sum(maturing), 0)::text as maturing from by_meter
  `.execute(reader.kysely);
  return nanoUsd(BigInt(rows[0]?.maturing ?? 0));
}
