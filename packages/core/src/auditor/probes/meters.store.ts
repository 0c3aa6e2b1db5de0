import { sql, type RawBuilder } from 'kysely';
import type { Probe } from './run-probe.store.ts';
import { organisationCondition, inIdRange, type IdRange } from './transfers.store.ts';

type Sql = RawBuilder<unknown>;

export interface MeterSelection {
  readonly range: IdRange;
  /** Check only meters that were charged in the range; the sums still cover all of their transfers. */
  readonly onlyTouched: boolean;
  readonly orgUuid: string | null;
  /** By the clock of the posting processes, which meters use. */
  readonly now: Date;
}

/** How far the clock of the posting process can be ahead. */
const TOLERANCE_MS = 300_000;

/**
 * Computes the cost of each meter from its transitions and its frozen rate alone, and compares it with the meter and with the
 * ledger. The keys of a meter's transfers contain its id: `…:meter:mtr_…:step`.
 */
export function meterProbe(basis: MeterSelection): Probe {
  const ofOwner = basis.orgUuid === null ? sql`true` : sql`m.org_id = ${basis.orgUuid}::uuid`;
  const which = basis.onlyTouched ? sql`m.id in (select meter_id from charges)` : sql`true`;
  return {
    rows: sql`
      with charges as materialized (${basis.onlyTouched ? selectedCharges(basis) : allCharges(basis)}),
      judged as materialized (select m.* from meters m where ${which} and ${ofOwner}),
      elapsed as (${elapsedRows(basis.now)}),
      facts as (
        select judged.*, coalesce(elapsed.ms, 0) as elapsed_ms, elapsed.is_sequence is true as is_sequence,
               elapsed.last_kind, elapsed.count as transition_count,
               greatest(0, extract(epoch from judged.term_ends_at - judged.closed_at) * 1000) as rest_ms
          from judged left join elapsed on elapsed.meter_id = judged.id
      ),
      rests as (
        select f.id, ${meteredCost(sql`f.elapsed_ms + f.rest_ms`)} - ${meteredCost(sql`f.elapsed_ms`)} as price from facts f
      )
      select coalesce(f.id, charges.meter_id) as subject, coalesce(f.org_id, charges.org_id) as org_id,
             f.id is not null as is_there, charges.meter_id is not null as is_charged,
             f.state, f.posted_nano_usd as posted, f.shortfall_nano_usd as shortfall, f.is_sequence,
             f.rest_of_term_nano_usd as rest, f.held_nano_usd as held, f.transition_count,
             coalesce(charges.paid, 0) as paid,
             ${meteredCost(sql`f.elapsed_ms`)} as cost,
             ${meteredCost(sql`f.elapsed_ms + ${TOLERANCE_MS}`)} as latest_cost,
             f.transition_count = f.transitions and f.last_kind = case f.state
               when 'paused' then 'paused' when 'closed' then 'closed' else f.last_kind end
               and (f.state = 'open') = (f.last_kind in ('opened', 'resumed')) as fits_state,
             rests.price - div(rests.price * f.refund_ppm, 1000000) as rest_of_term,
             f.hold_id is not null as has_hold, h.id is not null as found_hold, h.closed_at is not null as hold_closed,
             h.held_nano_usd as hold_held, (h.org_id, h.mode) = (f.org_id, f.mode) as hold_is_own
        from facts f
        full join charges on charges.meter_id = f.id and charges.org_id = f.org_id
        left join rests on rests.id = f.id
        left join ledger_holds h on h.id = f.hold_id`,
    about: 'meter',
    checks: meterChecks,
  };
}

/** Rounded down once over the whole time, in the tenant's favour. */
function meteredCost(elapsedMs: Sql): Sql {
  return sql`div(f.rate_nano_usd_per_hour::numeric * (${elapsedMs}), 3600000)`;
}

/** A running interval ends at the earliest time of any later pause or close, or at the end of the term. */
function elapsedRows(now: Date): Sql {
  return sql`
    select meter_id, max(seq) as count,
           (array_agg(kind order by seq desc))[1] as last_kind,
           count(*) = max(seq) and bool_and(follows) as is_sequence,
           sum(case when kind in ('opened', 'resumed')
                    then greatest(0, extract(epoch from least(ends, term_ends_at, ${now}::timestamptz) - at) * 1000)
                    else 0 end) as ms
      from (select t.meter_id, t.seq, t.kind, t.at, judged.term_ends_at,
                   min(t.at) filter (where t.kind in ('paused', 'closed')) over (
                     partition by t.meter_id order by t.seq rows between 1 following and unbounded following) as ends,
                   case lag(t.kind) over (partition by t.meter_id order by t.seq)
                     when 'opened' then t.kind in ('paused', 'closed')
                     when 'resumed' then t.kind in ('paused', 'closed')
                     when 'paused' then t.kind in ('resumed', 'closed')
                     when 'closed' then false
                     else t.kind = 'opened' end as follows
              from judged join meter_transitions t on t.meter_id = judged.id) as steps
     group by meter_id`;
}

function allCharges({ range, orgUuid }: MeterSelection): Sql {
  return sql`
    select meter_id, org_id, sum(paid) as paid from (
    select uuid_of_public_id(meter) as meter_id, org_id, paid
      from (select substring(idempotency_key from ':meter:(mtr_[0-9A-Z]{26}):') as meter, org_id,
                   -sum(amount_nano_usd) as paid
              from ledger_transfers
             where kind in ('charge', 'credit') and position(':meter:mtr_' in idempotency_key) > 0
               and ${inIdRange(sql`id`, range)} and ${organisationCondition(orgUuid, 'ledger_transfers')}
             group by 1, 2) as by_meter
     where meter is not null
    union all
    select m.id, m.org_id, archived.amount_nano_usd
      from ledger_archived_totals archived join meters m on m.id = archived.subject
     where archived.measure = 'meter_paid' and ${orgUuid === null ? sql`true` : sql`m.org_id = ${orgUuid}::uuid`}
    ) as charged group by meter_id, org_id`;
}

/** The unique index on the key finds all of a meter's transfers from one of them. */
function selectedCharges({ range }: MeterSelection): Sql {
  return sql`
    select uuid_of_public_id(substring(touched.prefix from ':meter:(mtr_[0-9A-Z]{26}):')) as meter_id,
           touched.org_id, life.paid + coalesce(archived.amount_nano_usd, 0) as paid
      from (select distinct org_id, substring(idempotency_key from '^.*:meter:mtr_[0-9A-Z]{26}:') as prefix
              from ledger_transfers
             where kind in ('charge', 'credit') and position(':meter:mtr_' in idempotency_key) > 0
               and ${inIdRange(sql`id`, range)}) as touched
     cross join lateral (
       select -sum(t.amount_nano_usd) as paid from ledger_transfers t
        where t.org_id = touched.org_id and t.kind in ('charge', 'credit') and t.id > ledger_archive_cutoff()
          and t.idempotency_key >= touched.prefix collate "C"
          and t.idempotency_key < left(touched.prefix, -1) || ';' collate "C") as life
      left join ledger_archived_totals archived
        on archived.subject = uuid_of_public_id(substring(touched.prefix from ':meter:(mtr_[0-9A-Z]{26}):'))
       and archived.measure = 'meter_paid'
     where touched.prefix is not null`;
}

const meterChecks: Probe['checks'] = [
  {
    name: 'meter_charge',
    judges: sql`q.is_there`,
    wrong: sql`case when q.state = 'open' then q.posted > q.latest_cost else q.posted <> q.cost end`,
    expected: sql`case when q.state = 'open' then 'at most ' else '' end || trim_scale(q.cost)`,
    actual: sql`q.posted`,
  },
  {
    name: 'meter_transfers',
    judges: sql`q.is_there`,
    expected: sql`q.posted + q.rest`,
    actual: sql`q.paid + q.shortfall`,
  },
  {
    name: 'meter_rest_of_term',
    judges: sql`q.is_there and q.state = 'closed'`,
    wrong: sql`q.rest not in (0, coalesce(q.rest_of_term, 0))`,
    expected: sql`'0 or ' || trim_scale(coalesce(q.rest_of_term, 0))`,
    actual: sql`q.rest`,
  },
  {
    name: 'meter_transitions',
    judges: sql`q.is_there`,
    wrong: sql`(q.is_sequence and q.fits_state) is not true`,
    expected: sql`'transitions that lead to ' || q.state`,
    actual: sql`coalesce(q.transition_count, 0) || ' that do not'`,
  },
  {
    name: 'meter_hold',
    judges: sql`q.is_there and q.has_hold`,
    wrong: sql`(q.found_hold and q.hold_is_own and q.hold_closed = (q.state = 'closed') and q.hold_held = q.held)
               is not true`,
    expected: sql`case when q.state = 'closed' then 'a closed hold' else 'an open hold of ' || q.held end`,
    actual: sql`case when not q.found_hold then 'none' when q.hold_is_own is not true then 'a hold of another wallet'
                     when q.hold_closed then 'a closed hold' else 'an open hold of ' || q.hold_held end`,
  },
  {
    name: 'charge_has_meter',
    judges: sql`q.is_charged`,
    wrong: sql`not q.is_there`,
    expected: sql`'a meter'`,
    actual: sql`q.paid || ' nano-USD charged without one'`,
  },
];

/**
 * Checks that metered resources have meters and the reverse. Rentals, instances and volumes have numeric ids, and their meters
 * are checked even if no such resource exists. Other kinds are checked while the view has at least one of them.
 */
export function meteredResourceProbe(orgUuid: string | null): Probe {
  const ofOwner = orgUuid === null ? sql`true` : sql`org_id = ${orgUuid}::uuid`;
  return {
    rows: sql`
      with things as materialized (select kind, id, org_id, mode from metered_things),
      running as (
        select cause_kind as kind, cause_id as id, org_id, mode, (array_agg(id order by id))[1] as meter_id
          from meters
         where state <> 'closed' and ${ofOwner}
           and (cause_kind in (select kind from things)
                or (cause_kind in ('rental', 'instance', 'volume') and cause_id ~ '^[0-9]+$'))
         group by 1, 2, 3, 4
      )
      select coalesce(things.kind, running.kind) || ':' || coalesce(things.id, running.id) as subject,
             coalesce(things.org_id, running.org_id) as org_id, running.meter_id,
             things.id is not null as is_there
        from (select * from things where ${ofOwner}) as things
        full join running on (running.kind, running.id, running.org_id, running.mode)
                           = (things.kind, things.id, things.org_id, things.mode)`,
    about: 'thing',
    checks: [
      {
        name: 'thing_has_meter',
        judges: sql`q.is_there`,
        wrong: sql`q.meter_id is null`,
        expected: sql`'an open or paused meter'`,
        actual: sql`'none'`,
      },
      {
        name: 'meter_has_thing',
        subject: { kind: 'meter', id: sql`q.meter_id` },
        judges: sql`q.meter_id is not null`,
        wrong: sql`not q.is_there`,
        expected: sql`q.subject`,
        actual: sql`'nothing of that name'`,
      },
    ],
  };
}
