import { sql } from 'kysely';
import type { Probe } from './run-probe.store.ts';
import { organisationCondition, inIdRange, type IdRange } from './transfers.store.ts';

/** Which holds are checked: all, or those that are open or newer than the last clean audit. */
export interface HoldSelection {
  /** The transfers to check. */
  readonly range: IdRange;
  /** Holds created after the last clean audit, whose charges are all in the range; null checks all holds. */
  readonly youngAfter: string | null;
  readonly orgUuid: string | null;
}

/** Checks a hold against its parts and its charges. Charges beyond the hold count; amounts that the operator absorbed do not. */
export function holdProbe({ range, youngAfter, orgUuid }: HoldSelection): Probe {
  const which = youngAfter === null ? sql`true` : sql`(h.closed_at is null or h.id > ${youngAfter}::uuid)`;
  const ofOwner = orgUuid === null ? sql`true` : sql`h.org_id = ${orgUuid}::uuid`;
  return {
    rows: sql`
      with judged as materialized (select h.* from ledger_holds h where ${which} and ${ofOwner}),
      parts as (
        select part.hold_id,
               sum(part.held_nano_usd) filter (where a.kind <> 'limit') as money,
               max(part.held_nano_usd) filter (where a.kind = 'limit') as largest_limit,
               sum(part.held_nano_usd) as everything,
               count(*) filter (where a.kind <> 'limit') as money_parts,
               count(*) as parts,
               count(*) filter (where a.id is null or a.kind not in ('credit', 'promo', 'limit', 'supplier_payable')
                                   or (a.org_id, a.mode) <> (judged.org_id, judged.mode)) as strangers
          from judged
          join ledger_hold_parts part on part.hold_id = judged.id
          left join ledger_accounts a on a.id = part.account_id
         group by part.hold_id
      ),
      charged as (
        select hold_id, sum(-amount_nano_usd) as amount from ledger_transfers
         where hold_id is not null and kind in ('charge', 'payout') and ${inIdRange(sql`id`, range)} and ${organisationCondition(orgUuid, 'ledger_transfers')}
         group by hold_id
      )
      select judged.id as subject, judged.org_id, judged.held_nano_usd as held, judged.posted_nano_usd as posted,
             judged.closed_at is not null as is_closed,
             coalesce(parts.money, 0) as money, coalesce(parts.largest_limit, 0) as largest_limit,
             coalesce(parts.everything, 0) as everything, coalesce(parts.strangers, 0) as strangers,
             coalesce(parts.parts, 0) > 0 and coalesce(parts.money_parts, 0) = 0 as is_limits_only,
             coalesce(charged.amount, 0) + coalesce(archived.amount_nano_usd, 0) as charged,
             ${youngAfter === null ? sql`true` : sql`judged.id > ${youngAfter}::uuid`} as has_all_charges
        from judged
        left join parts on parts.hold_id = judged.id
        left join charged on charged.hold_id = judged.id
        left join ledger_archived_totals archived on archived.subject = judged.id and archived.measure = 'hold_posted'`,
    about: 'hold',
    checks: holdChecks,
  };
}

const holdChecks: Probe['checks'] = [
  {
    name: 'hold_parts',
    judges: sql`not q.is_limits_only and not q.is_closed`,
    expected: sql`q.money`,
    actual: sql`q.held`,
  },
  {
    name: 'hold_limit_parts',
    judges: sql`not q.is_closed`,
    wrong: sql`q.largest_limit > q.held`,
    expected: sql`'at most ' || q.held`,
    actual: sql`q.largest_limit`,
  },
  {
    name: 'hold_closed',
    judges: sql`q.is_closed`,
    wrong: sql`q.held <> 0 or q.everything <> 0`,
    expected: sql`0`,
    actual: sql`greatest(q.held, q.everything)`,
  },
  {
    name: 'hold_owner',
    wrong: sql`q.strangers > 0`,
    expected: sql`'accounts of its organisation and mode'`,
    actual: sql`q.strangers || ' parts elsewhere'`,
  },
  { name: 'hold_posted', judges: sql`q.has_all_charges`, expected: sql`q.charged`, actual: sql`q.posted` },
];
