import { sql } from 'kysely';
import type { MeterSelection } from './meters.store.ts';
import type { Probe } from './run-probe.store.ts';
import { archiveEnd, organisationCondition, inIdRange, type IdRange } from './transfers.store.ts';

/** Keys of meters begin with their resource, and `;` follows `:`. The equal causes are redundant but allow bulk look-ups. */
const meterKeyCondition = sql`t.cause_kind = m.cause_kind and t.cause_id = m.cause_id
                   and t.idempotency_key > m.cause_kind || ':' || m.cause_id || ':meter:' collate "C"
                   and t.idempotency_key < m.cause_kind || ':' || m.cause_id || ':meter;' collate "C"`;

/**
 * Checks charges of meters on suppliers' machines against their recipients: all entries of all transfers of a meter, by owner. The
 * supplier and the fee also get the part that the operator absorbed for a tenant.
 */
export function splitProbe({ range, onlyTouched, orgUuid }: Omit<MeterSelection, 'now'>): Probe {
  const which = onlyTouched
    ? sql`(m.org_id, m.cause_kind, m.cause_id) in (
             select t.org_id, t.cause_kind, t.cause_id from ledger_transfers t
              where t.kind in ('charge', 'credit') and ${inIdRange(sql`t.id`, range)})`
    : sql`true`;
  const ofOwner = orgUuid === null ? sql`true` : sql`m.org_id = ${orgUuid}::uuid`;
  return {
    rows: sql`
      with judged as materialized (
        select m.* from meters m where m.supplier_org_id is not null and ${which} and ${ofOwner}
      ),
      things as (select distinct org_id, cause_kind, cause_id from judged),
      -- Summed by account before the owner is looked up, so that the look-up has few rows whatever the planner expects.
      entered as materialized (
        select m.org_id, e.account_id, sum(e.amount_nano_usd) as amount,
               substr(t.idempotency_key, length(m.cause_kind || ':' || m.cause_id || ':meter:') + 1, 30) as meter
          from things m
          join ledger_transfers t on t.org_id = m.org_id and t.kind in ('charge', 'credit') and ${meterKeyCondition}
           and t.id > ledger_archive_cutoff()
          join ledger_entries e on e.transfer_id = t.id
         group by 1, 2, 4
      ),
      moved as (
        select uuid_of_public_id(by_meter.meter) as meter_id, by_meter.* from (
          select e.org_id, e.meter,
                 array_agg(distinct a.org_id) filter (where a.kind = 'supplier_payable') as suppliers,
                 sum(e.amount) filter (where a.kind = 'supplier_payable') as earned,
                 sum(e.amount) filter (where a.kind = 'platform_fee') as fee,
                 -sum(e.amount) filter (where a.kind = 'promo') as promo,
                 -sum(e.amount) filter (where a.kind in ('credit', 'promo', 'shortfall')) as paid
            from entered e join ledger_accounts a on a.id = e.account_id
           group by 1, 2) as by_meter
      )
      select judged.id as subject, judged.org_id, judged.supplier_posted_nano_usd as supplier_posted,
             judged.posted_nano_usd + judged.rest_of_term_nano_usd as posted,
             judged.rest_of_term_nano_usd as rest,
             div(judged.supplier_rate_nano_usd_per_hour::numeric * judged.posted_ms, 3600000) as share,
             coalesce(moved.paid, 0) + coalesce(archived.paid, 0) as paid,
             coalesce(moved.earned, 0) + coalesce(archived.earned, 0) as earned,
             coalesce(moved.fee, 0) + coalesce(archived.fee, 0) as fee,
             coalesce(moved.promo, 0) + coalesce(archived.promo, 0) as promo,
             coalesce(moved.suppliers, array[judged.supplier_org_id]) = array[judged.supplier_org_id] as is_its_own
        from judged left join moved on (moved.meter_id, moved.org_id) = (judged.id, judged.org_id)
        cross join lateral (
          select sum(amount_nano_usd) filter (where measure in ('meter_charged', 'meter_promo')) as paid,
                 sum(amount_nano_usd) filter (where measure = 'meter_earned') as earned,
                 sum(amount_nano_usd) filter (where measure = 'meter_fee') as fee,
                 sum(amount_nano_usd) filter (where measure = 'meter_promo') as promo
            from ledger_archived_totals where subject = judged.id) as archived`,
    about: 'meter',
    checks: [
      {
        name: 'meter_split',
        wrong: sql`not q.is_its_own or q.paid <> q.earned + q.fee or q.paid <> q.posted
                   or q.earned <> q.supplier_posted`,
        expected: sql`q.supplier_posted || ' of ' || q.posted`,
        actual: sql`q.earned || case when q.is_its_own then '' else ' in part to others' end
                    || ' and a fee of ' || q.fee || ' of ' || q.paid`,
      },
      { name: 'meter_paid_money', expected: sql`0`, actual: sql`q.promo` },
      {
        name: 'meter_supplier_share',
        // Two totals are rounded separately, and a part is never more than the whole: they can differ by one.
        judges: sql`q.rest = 0`,
        wrong: sql`abs(q.supplier_posted - q.share) > 1`,
        expected: sql`trim_scale(q.share)`,
        actual: sql`q.supplier_posted`,
      },
    ],
  };
}

/** Checks payouts against their holds and transfers, in both directions. */
export function payoutProbe(basis: {
  readonly range: IdRange;
  /** Check payouts that are requested, settled since, or paid in the range; null checks all. */
  readonly settledSince: Date | null;
  readonly orgUuid: string | null;
}): Probe {
  const { range, settledSince, orgUuid } = basis;
  const ofOwner = orgUuid === null ? sql`true` : sql`p.org_id = ${orgUuid}::uuid`;
  const which =
    settledSince === null
      ? sql`true`
      : sql`(p.settled_at is null or p.settled_at >= ${settledSince}::timestamptz
             or p.transfer_id in (select id from paid))`;
  return {
    rows: sql`
      with paid as (
        select t.* from ledger_transfers t
         where t.kind = 'payout' and ${inIdRange(sql`t.id`, range)} and ${organisationCondition(orgUuid)}
      )
      select coalesce(p.id, paid.id) as subject, coalesce(p.org_id, paid.org_id) as org_id, p.id is not null as is_there,
             paid.id as transfer_id, p.status, p.amount_nano_usd as amount,
             h.held_nano_usd as held, h.posted_nano_usd as posted, h.closed_at is not null as is_closed,
             (h.org_id, h.mode) = (p.org_id, 'live') as is_own,
             -t.amount_nano_usd as transferred, (t.org_id, t.hold_id) = (p.org_id, p.hold_id) as transfer_is_own
        from (select * from supplier_payouts p where ${ofOwner} and ${which}) as p
        left join ledger_holds h on h.id = p.hold_id
        left join ledger_transfers t on t.id = p.transfer_id and t.kind = 'payout'
        full join paid on paid.id = p.transfer_id`,
    about: 'payout',
    checks: [
      {
        name: 'payout_money',
        judges: sql`q.is_there`,
        wrong: sql`(q.is_own and case q.status
                      when 'requested' then not q.is_closed and q.held = q.amount
                      when 'paid' then q.is_closed and q.posted = q.amount and q.transferred = q.amount
                                       and q.transfer_is_own
                      else q.is_closed and q.posted = 0 end) is not true`,
        expected: sql`case q.status when 'requested' then 'an open hold of ' || q.amount
                                    when 'paid' then 'a transfer of ' || q.amount
                                    else 'a closed hold and no transfer' end`,
        actual: sql`case when q.is_own is not true then 'no hold of its own'
                         when q.is_closed then 'a closed hold that paid ' || q.posted
                         else 'an open hold of ' || q.held end
                    || ' and ' || coalesce('a transfer of ' || q.transferred, 'no transfer')`,
      },
      {
        name: 'transfer_has_payout',
        subject: { kind: 'transfer', id: sql`q.transfer_id` },
        judges: sql`q.transfer_id is not null`,
        wrong: sql`not q.is_there`,
        expected: sql`'a payout'`,
        actual: sql`'a transfer that no payout names'`,
      },
    ],
  };
}

/** Checks statements against the supplier's ledger entries of the month, without payouts. Only a full audit of all runs it. */
export function statementProbe(): Probe {
  return {
    rows: sql`
      with earned as (
        select a.org_id, date_trunc('month', t.occurred_at at time zone 'UTC') as month, sum(e.amount_nano_usd) as net
          from ledger_accounts a
          join ledger_entries e on e.account_id = a.id
          join ledger_transfers t on t.id = e.transfer_id
         where a.kind = 'supplier_payable' and a.mode = 'live' and t.kind <> 'payout'
           -- A reversed payout is not an earning either.
           and not exists (select from ledger_transfers undone where undone.id = t.reverses and undone.kind = 'payout')
         group by 1, 2
      )
      select s.id as subject, s.org_id, s.net_nano_usd as net, coalesce(earned.net, 0) as earned,
             s.gross_nano_usd as gross, s.fee_nano_usd as fee, lines.gross as line_gross, lines.fee as line_fee
        from supplier_statements s
        left join earned on earned.org_id = s.org_id and earned.month = s.period_start at time zone 'UTC'
       cross join lateral (
             select coalesce(sum((line ->> 'grossNanoUsd')::numeric), 0) as gross,
                    coalesce(sum((line ->> 'feeNanoUsd')::numeric), 0) as fee
               from jsonb_array_elements(s.lines) as line) as lines
       where s.period_start >= ${archiveEnd}`,
    about: 'statement',
    checks: [
      {
        name: 'statement_adds_up',
        wrong: sql`q.net <> q.earned or (q.gross, q.fee) <> (q.line_gross, q.line_fee)`,
        expected: sql`q.earned`,
        actual: sql`q.net || ', and ' || (q.line_gross - q.line_fee) || ' by its lines'`,
      },
    ],
  };
}
