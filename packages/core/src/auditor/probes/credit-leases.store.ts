import { sql } from 'kysely';
import type { Probe } from './run-probe.store.ts';
import { organisationCondition, inIdRange, type IdRange } from './transfers.store.ts';

/** A subquery, because the function would otherwise run for each row. */
export const usageCutoff = sql`(select usage_archive_cutoff())`;

/**
 * Checks usage charges against their requests. A usage charge is from the hold of a lease, or a request names it. The range begins
 * after the archived requests; `transfer_used` has those that a charge in the range names.
 */
export function usageProbe(range: IdRange, orgUuid: string | null): Probe {
  return {
    rows: sql`
      with used as (
        select u.transfer_id, sum(u.amount_nano_usd + u.borne_nano_usd) as amount,
               count(*) filter (where (u.org_id, u.mode) <> (t.org_id, t.mode)
                                   or u.key_id is distinct from t.key_id) as strangers
          from usage_charges u join ledger_transfers t on t.id = u.transfer_id
         where ${inIdRange(sql`u.transfer_id`, range)} and u.request_id >= ${usageCutoff}
         group by u.transfer_id
      ),
      picked as materialized (
        select t.id, t.org_id, coalesce(used.amount, 0) + coalesce(archived.amount_nano_usd, 0) as used, coalesce(used.strangers, 0) as strangers
          from ledger_transfers t
          left join pot_leases l on l.hold_id = t.hold_id
          left join used on used.transfer_id = t.id
          left join ledger_archived_totals archived on archived.subject = t.id and archived.measure = 'transfer_used'
         where t.kind = 'charge' and ${inIdRange(sql`t.id`, range)} and ${organisationCondition(orgUuid)}
           and (l.id is not null or used.transfer_id is not null or archived.subject is not null)
      ),
      taken as (
        select e.transfer_id, sum(e.amount_nano_usd) as amount
          from picked
          join ledger_entries e on e.transfer_id = picked.id
          join ledger_accounts a on a.id = e.account_id
         where a.kind in ('revenue', 'platform_fee', 'supplier_payable')
         group by e.transfer_id
      )
      select picked.id as subject, picked.org_id, coalesce(taken.amount, 0) as taken, picked.used, picked.strangers
        from picked left join taken on taken.transfer_id = picked.id`,
    about: 'transfer',
    checks: [
      { name: 'usage_charge', expected: sql`q.used`, actual: sql`q.taken` },
      {
        name: 'usage_owner',
        wrong: sql`q.strangers > 0`,
        expected: sql`'requests of its organisation, mode and key'`,
        actual: sql`q.strangers || ' requests of others'`,
      },
    ],
  };
}

/** Checks that every charged request has its transfer and its row. Reads all details, so only a full audit runs it. */
export function requestProbe(orgUuid: string | null): Probe {
  const ofOwner = orgUuid === null ? sql`true` : sql`u.org_id = ${orgUuid}::uuid`;
  return {
    rows: sql`
      select u.request_id as subject, u.org_id, u.amount_nano_usd as amount, 
             t.id is not null or coalesce(u.transfer_id <= ledger_archive_cutoff(), false) as is_charged,
             r.id is not null as is_recorded
        from usage_charges u
        left join ledger_transfers t on t.id = u.transfer_id
        left join inference_requests r on r.id = u.request_id
       where u.outcome = 'charged' and u.request_id >= ${usageCutoff} and ${ofOwner}`,
    about: 'usage',
    checks: [
      {
        name: 'usage_has_transfer',
        wrong: sql`q.amount > 0 and not q.is_charged`,
        expected: sql`'a charge of ' || q.amount`,
        actual: sql`'none'`,
      },
      {
        name: 'usage_has_request',
        wrong: sql`not q.is_recorded`,
        expected: sql`'a request of ' || q.amount`,
        actual: sql`'none'`,
      },
    ],
  };
}

/** Checks leases and their budget grants against their holds and their usage. */
export function leaseProbe(basis: {
  /** All leases with all usage, or only the holds of open and closing leases. */
  readonly everything: boolean;
  readonly orgUuid: string | null;
}): Probe {
  const { everything, orgUuid } = basis;
  const ofOwner = orgUuid === null ? sql`true` : sql`l.org_id = ${orgUuid}::uuid`;
  const which = everything ? sql`true` : sql`l.state in ('open', 'closing')`;
  return {
    rows: sql`
      with judged as materialized (select l.* from pot_leases l where ${which} and ${ofOwner}),
      used as (
        select u.lease_id, sum(u.amount_nano_usd) as amount
          from usage_charges u
         where u.outcome = 'charged' and u.lease_id is not null and u.request_id >= ${usageCutoff}
           and ${everything ? sql`true` : sql`false`}
         group by u.lease_id
      ),
      lent as (
        select id, org_id, mode, state, hold_id, granted_nano_usd as granted, recalled_nano_usd as recalled,
               settled_nano_usd as settled, true as is_money from judged
        union all
        select l.id, l.org_id, l.mode, l.state, b.hold_id, b.granted_nano_usd, b.recalled_nano_usd,
               b.settled_nano_usd, false
          from judged l join pot_lease_budgets b on b.lease_id = l.id
      )
      select lent.id as subject, lent.org_id, lent.state = 'closed' as is_closed, lent.is_money,
             lent.granted, lent.settled, greatest(0, lent.granted - lent.recalled - lent.settled) as owed,
             coalesce(used.amount, 0) + coalesce(archived.amount_nano_usd, 0) as used,
             h.id is not null and (h.org_id, h.mode) = (lent.org_id, lent.mode) as has_hold,
             h.closed_at is not null as hold_closed, h.held_nano_usd as held
        from lent
        left join ledger_holds h on h.id = lent.hold_id
        left join used on used.lease_id = lent.id
        left join ledger_archived_totals archived on archived.subject = lent.id and archived.measure = 'lease_used'`,
    about: 'lease',
    checks: [
      {
        name: 'lease_hold',
        judges: sql`not q.is_closed`,
        wrong: sql`(q.has_hold and not q.hold_closed
                    and (q.held = q.owed or (q.held > q.owed and not q.is_money))) is not true`,
        expected: sql`case when q.is_money then 'an open hold of ' else 'an open hold of at least ' end || q.owed`,
        actual: sql`case when not q.has_hold then 'none' when q.hold_closed then 'a closed hold'
                         else 'an open hold of ' || q.held end`,
      },
      {
        name: 'lease_closed',
        judges: sql`q.is_closed`,
        wrong: sql`(q.has_hold and q.hold_closed) is not true`,
        expected: sql`'a closed hold'`,
        actual: sql`case when q.has_hold then 'an open hold of ' || q.held else 'none' end`,
      },
      {
        name: 'lease_settled',
        judges: everything ? sql`q.is_money` : sql`false`,
        expected: sql`q.used`,
        actual: sql`q.settled`,
      },
      {
        name: 'lease_overspent',
        judges: sql`q.is_money`,
        wrong: sql`q.settled > q.granted`,
        expected: sql`'at most ' || q.granted`,
        actual: sql`q.settled`,
      },
    ],
  };
}
