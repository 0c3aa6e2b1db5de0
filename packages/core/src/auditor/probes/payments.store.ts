import { sql } from 'kysely';
import type { Probe } from './run-probe.store.ts';
import { organisationCondition, inIdRange, type IdRange } from './transfers.store.ts';

/** Checks payments against their top-ups, in both directions. */
export function paymentProbe(basis: {
  readonly range: IdRange;
  /** Check only payments that were paid after this time; null checks all. */
  readonly paidSince: Date | null;
  readonly orgUuid: string | null;
}): Probe {
  const { range, paidSince, orgUuid } = basis;
  const ofOwner = orgUuid === null ? sql`true` : sql`org_id = ${orgUuid}::uuid`;
  const which = paidSince === null ? sql`true` : sql`p.paid_at >= ${paidSince}::timestamptz`;
  return {
    rows: sql`
      with top_ups as (
        select cause_kind, cause_id, org_id, mode, count(*) as transfers, sum(amount_nano_usd) as amount,
               (array_agg(id order by id))[1] as transfer_id,
               case when cause_kind = 'payment' then uuid_of_public_id(cause_id) end as payment_id
          from ledger_transfers
         where kind = 'top_up' and ${inIdRange(sql`id`, range)} and ${organisationCondition(orgUuid, 'ledger_transfers')}
         group by cause_kind, cause_id, org_id, mode
      )
      select coalesce(p.id, top_ups.transfer_id) as subject, coalesce(p.org_id, top_ups.org_id) as org_id,
             p.id is not null as is_there, top_ups.transfer_id, coalesce(top_ups.transfers, 0) as transfers,
             coalesce(top_ups.amount, 0) as amount, p.credited_nano_usd as credited,
             p.id is not null and ${which} as is_judged, top_ups.cause_kind || ' ' || top_ups.cause_id as cause
        from (select * from payments where ${ofOwner}) as p
        full join top_ups on (top_ups.payment_id, top_ups.org_id, top_ups.mode) = (p.id, p.org_id, p.mode)
       where p.id is null or p.credited_nano_usd > 0 or top_ups.transfer_id is not null`,
    about: 'payment',
    checks: [
      {
        name: 'payment_top_up',
        judges: sql`q.is_there and (q.is_judged or q.transfers > 0)`,
        wrong: sql`q.transfers > 1 or q.amount <> q.credited`,
        expected: sql`case when q.credited = 0 then 'no top-up' else 'one top-up of ' || q.credited end`,
        actual: sql`q.transfers || ' of ' || q.amount`,
      },
      {
        name: 'top_up_has_payment',
        subject: { kind: 'transfer', id: sql`q.transfer_id` },
        judges: sql`q.transfer_id is not null`,
        wrong: sql`not q.is_there`,
        expected: sql`'a payment'`,
        actual: sql`'no payment behind ' || q.cause`,
      },
    ],
  };
}

/**
 * Checks the clawback of each payment against its transfers (from any payer) and that no other clawback transfer exists. Sums
 * all of them, so only a full audit runs it.
 */
export function clawbackProbe(orgUuid: string | null): Probe {
  const ofOwner = orgUuid === null ? sql`true` : sql`p.org_id = ${orgUuid}::uuid`;
  return {
    rows: sql`
      with taken as (
        select t.id, t.org_id, t.mode, uuid_of_public_id(t.cause_id) as payment_id, sum(e.amount_nano_usd) as amount,
               exists (select from ledger_transfers undo where undo.reverses = t.id) as is_undone
          from ledger_transfers t
          join ledger_entries e on e.transfer_id = t.id
          join ledger_accounts a on a.id = e.account_id and a.kind = 'payments_clearing'
         where t.kind = 'clawback' and t.cause_kind = 'payment' and ${organisationCondition(orgUuid)}
         group by t.id
      )
      select p.id as subject, p.org_id, p.clawed_back_nano_usd as clawed_back,
             coalesce(sum(taken.amount) filter (where taken.id = any (p.clawback_transfers)), 0) as named,
             coalesce(sum(taken.amount) filter (
               where taken.id <> all (p.clawback_transfers) and not taken.is_undone), 0) as unnamed
        from payments p
        left join taken on (taken.payment_id, taken.org_id, taken.mode) = (p.id, p.org_id, p.mode)
       where ${ofOwner}
       group by p.id`,
    about: 'payment',
    checks: [
      {
        name: 'payment_clawback',
        wrong: sql`q.named <> q.clawed_back or q.unnamed <> 0`,
        expected: sql`q.clawed_back`,
        actual: sql`q.named + q.unnamed`,
      },
    ],
  };
}

/** Checks debts from clawbacks against the transfers that caused and repaid them. Only a full audit runs it. */
export function debtProbe(orgUuid: string | null): Probe {
  const ofOwner = orgUuid === null ? sql`true` : sql`a.org_id = ${orgUuid}::uuid`;
  return {
    rows: sql`
      with advanced as (
        select t.org_id, t.mode, -sum(e.amount_nano_usd) as amount
          from ledger_transfers t
          left join ledger_transfers source on source.id = t.reverses
          join ledger_entries e on e.transfer_id = t.id
          join ledger_accounts a on a.id = e.account_id and a.kind = 'shortfall'
         where t.kind in ('clawback', 'reversal') and coalesce(source.kind, t.kind) = 'clawback'
           and ${organisationCondition(orgUuid)}
         group by t.org_id, t.mode
      )
      select a.id as subject, a.org_id, a.owed_nano_usd + a.written_off_nano_usd as owed,
             coalesce(advanced.amount, 0) as advanced
        from ledger_accounts a
        left join advanced on (advanced.org_id, advanced.mode) = (a.org_id, a.mode)
       where a.kind = 'credit' and ${ofOwner}`,
    about: 'account',
    checks: [{ name: 'clawback_debt', expected: sql`q.advanced`, actual: sql`q.owed` }],
  };
}
