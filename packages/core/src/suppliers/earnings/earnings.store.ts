import type { Reader } from '@millrace/platform/db';
import { fromUuid, toUuid, type OrgId } from '@millrace/platform/ids';
import { nanoUsd, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import { sql, type RawBuilder } from 'kysely';
import { firstIdAfter, firstIdFrom } from '../../ledger/index.ts';
import {
  earningsByMachine,
  type DailyEarnings,
  type MachineEarnings,
  type EarningsPeriod,
} from './earnings.ts';

/** What suppliers earned, read from meters and the ledger. Nothing is decided by it. */

interface EarningsRow {
  node_id: string | null;
  day: Date;
  gpu_ms: string;
  fee: string;
  earned: string;
}

/** By machine, what was posted in the period, less what was given back or refunded in it. */
export async function sumEarnings(
  reader: Reader,
  orgId: OrgId,
  period: EarningsPeriod,
): Promise<readonly MachineEarnings[]> {
  return earningsByMachine(await listDailyEarnings(reader, orgId, period));
}

/**
 * The transfers of the period that changed what a supplier earned. The entries of a supplier's account cannot be looked up by the
 * account, on purpose: they are found through the things that its meters run for, and through the few transfers that undo others.
 * `earned_id` and `earned_at` are of the transfer that is undone, where the transfer undoes one; `meter` is null where no meter posted it.
 */
function earningTransfersIn(supplier: string, { from, until }: EarningsPeriod): RawBuilder<unknown> {
  const inPeriod = sql`t.id >= ${firstIdFrom(from)} and t.id < ${firstIdAfter(until)}
                       and t.occurred_at >= ${from} and t.occurred_at < ${until} and t.mode = 'live'`;
  return sql`
    payable as materialized (
      select id from ledger_accounts where org_id = ${supplier} and mode = 'live' and kind = 'supplier_payable'
    ),
    -- A meter posts for the last time when its end is written down, which may be later than the end.
    things as materialized (
      select distinct m.org_id, m.cause_kind, m.cause_id
        from meters m
        join meter_transitions last on last.meter_id = m.id and last.seq = m.transitions
       where m.supplier_org_id = ${supplier} and m.mode = 'live' and m.opened_at < ${until}
         and (m.state <> 'closed' or last.recorded_at >= ${from}::timestamptz - interval '1 hour')
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
           and t.kind in ('charge', 'credit') and ${inPeriod} offset 0) as posted
       union all
      select t.id, undone.cause_id, t.occurred_at, undone.id, undone.occurred_at, undone.meter, 0
        from ledger_transfers t cross join lateral (
          select source.id, source.cause_id, source.occurred_at, ${meterIn(sql`source`)} as meter
            from ledger_transfers source
           where source.id = t.reverses and source.kind <> 'payout' offset 0) as undone
       where t.kind in ('refund', 'reversal') and ${inPeriod}
         and (select count(*) from ledger_entries e
               where e.transfer_id = t.id and e.account_id = (select id from payable)) > 0
    )`;
}

/** The meter that a transfer was posted for, with its thing; null for other transfers. */
const meterIn = (transfer: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`substring(${transfer}.idempotency_key from '^.*:meter:[^:]+')`;

/** By machine and day (UTC), what was posted in the period, less what was given back or refunded in it. */
export async function listDailyEarnings(
  reader: Reader,
  orgId: OrgId,
  period: EarningsPeriod,
): Promise<readonly DailyEarnings[]> {
  const { rows } = await sql<EarningsRow>`
    with ${earningTransfersIn(toUuid(orgId), period)},
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
    ),
    by_thing as (
      select cause_id, day, sum(gpu_ms) as gpu_ms, sum(earned) as earned, sum(fee) as fee from legs
       group by cause_id, day
    )
    select instance.node_id, by_thing.day, trim_scale(sum(gpu_ms))::text as gpu_ms, sum(earned)::text as earned, sum(fee)::text as fee
      from by_thing
      -- Things are called by their numbers in the ledger.
      left join rentals rental
        on rental.wire_id = case when by_thing.cause_id ~ '^[1-9][0-9]{0,9}$' then by_thing.cause_id::bigint end
      left join instances instance on instance.rental_id = rental.id
     group by instance.node_id, by_thing.day
    having sum(gpu_ms) <> 0 or sum(earned) <> 0 or sum(fee) <> 0
     order by instance.node_id, by_thing.day
  `.execute(reader.kysely);
  return rows.map((row) => ({
    machineId: row.node_id === null ? null : fromUuid('nod', row.node_id),
    day: row.day,
    gpuMs: BigInt(row.gpu_ms),
    gross: nanoUsd(BigInt(row.earned) + BigInt(row.fee)),
    fee: nanoUsd(BigInt(row.fee)),
    earned: nanoUsd(BigInt(row.earned)),
  }));
}

/**
 * The earnings of the holding period. A refund or reversal reduces the earning that it undoes, so one of an older earning is not counted
 * here; it reduces the balance. Time that a meter gives back reduces the meter's newest earnings first. If it exceeds those of the period,
 * the excess reduces matured earnings: so a running total below zero is not carried over.
 */
export async function sumMaturing(
  reader: Reader,
  orgId: OrgId,
  { now, holdMs }: { readonly now: Date; readonly holdMs: number },
): Promise<NanoUsd> {
  if (holdMs === 0) return zeroUsd;
  const from = new Date(now.getTime() - holdMs);
  // Postings of this moment belong to it, also where another process reads the clock a little later.
  const until = new Date(now.getTime() + 60_000);
  const { rows } = await sql<{ maturing: string }>`
    with ${earningTransfersIn(toUuid(orgId), { from, until })},
    earnings as (
      select moved.meter, entered.earned,
             sum(entered.earned) over (partition by moved.meter order by moved.earned_id, moved.id) as total
        from moved cross join lateral (
          select sum(e.amount_nano_usd) as earned from ledger_entries e
           where e.transfer_id = moved.id and e.account_id = (select id from payable) offset 0) as entered
       where moved.meter is not null and moved.earned_at >= ${from} and entered.earned is not null
    ),
    by_meter as (
      select sum(earned) - least(0, min(total)) as maturing from earnings group by meter
    )
    select coalesce(sum(maturing), 0)::text as maturing from by_meter
  `.execute(reader.kysely);
  return nanoUsd(BigInt(rows[0]?.maturing ?? 0));
}

/** What meters that run have earned a supplier and not posted yet. What is paused was posted when it was. */
export async function sumAccrued(reader: Reader, orgId: OrgId, at: Date): Promise<NanoUsd> {
  const { rows } = await sql<{ accrued: string }>`
    select coalesce(sum(greatest(0,
             div(supplier_rate_nano_usd_per_hour
                   * (elapsed_before_ms + floor(greatest(0, extract(epoch from
                        least(${at}::timestamptz, term_ends_at) - running_since) * 1000))), 3600000)
             - supplier_posted_nano_usd)), 0)::text as accrued
      from meters
     where supplier_org_id = ${toUuid(orgId)} and mode = 'live' and state = 'open'
  `.execute(reader.kysely);
  return nanoUsd(BigInt(rows[0]?.accrued ?? 0));
}
