import type { Tx } from '@millrace/platform/db';
import { sql, type RawBuilder } from 'kysely';
import type { Probe, ProbeCheck } from './run-probe.store.ts';

type Sql = RawBuilder<unknown>;

/** Ids after `after`, up to and including `until`. UUIDv7 sorts by time, so this is also a time range. */
export interface IdRange {
  readonly after: string;
  readonly until: string | null;
}

export function inIdRange(column: Sql, range: IdRange): Sql {
  const upper = range.until === null ? sql`true` : sql`${column} <= ${range.until}::uuid`;
  return sql`${column} > ${range.after}::uuid and ${upper}`;
}

/** Both modes are listed because the index on transfers begins with the mode. */
export function organisationCondition(orgUuid: string | null, table = 't'): Sql {
  if (orgUuid === null) return sql`true`;
  return sql`${sql.ref(`${table}.org_id`)} = ${orgUuid}::uuid and ${sql.ref(`${table}.mode`)} in ('live', 'test')`;
}

/** The end of the archived months. Their invoices and statements were checked before the archive began. */
export const archiveEnd = sql`coalesce((select max(through) from ledger_archives)::timestamp at time zone 'UTC', '-infinity')`;

/** The last id of the next `size` transfers; null if fewer remain. */
export async function findChunkEnd(tx: Tx, after: string, size: number): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`
    select id from ledger_transfers where id > ${after}::uuid order by id offset ${size - 1} limit 1
  `.execute(tx.kysely);
  return rows[0]?.id ?? null;
}

/** Checks a range of transfers in one pass each: their entries, their rows, and their references. */
export function transferProbes(range: IdRange, orgUuid: string | null): readonly Probe[] {
  return [
    { rows: legRows(range, orgUuid), about: 'transfer', checks: legChecks },
    { rows: transferRows(range, orgUuid), about: 'transfer', checks: transferChecks },
    { rows: chargedHoldRows(range, orgUuid), about: 'transfer', checks: [holdCheck] },
    { rows: undoneRows(range, orgUuid), about: 'transfer', checks: [originalCheck] },
  ];
}

function transfersOf(range: IdRange, orgUuid: string | null): Sql {
  return sql`${inIdRange(sql`t.id`, range)} and ${organisationCondition(orgUuid)}`;
}

/** Entries summed by transfer. Includes entries without a transfer, but no transfers without entries. */
function legRows(range: IdRange, orgUuid: string | null): Sql {
  // Entries without a transfer have no organisation, so only an audit of all can find them.
  const legs =
    orgUuid === null
      ? sql`ledger_entries e left join ledger_transfers t on t.id = e.transfer_id and ${inIdRange(sql`t.id`, range)}`
      : sql`ledger_transfers t join ledger_entries e on e.transfer_id = t.id and ${organisationCondition(orgUuid)}`;
  return sql`
    select e.transfer_id as subject, t.org_id, t.id is not null as is_there, t.mode, t.amount_nano_usd as amount,
           t.cause_kind, t.cause_id, count(*) as entries,
           coalesce(sum(e.amount_nano_usd), 0) as total,
           coalesce(sum(e.amount_nano_usd) filter (
             where a.kind in ('credit', 'promo') or (t.kind = 'payout' and a.kind = 'supplier_payable')), 0) as own,
           coalesce(-sum(e.amount_nano_usd) filter (where a.kind = 'shortfall'), 0) as shortfall,
           coalesce(sum(e.amount_nano_usd) filter (where a.kind in ('limit', 'limit_contra')), 0) as counted,
           count(*) filter (where a.mode <> t.mode) as other_mode,
           count(*) filter (where a.kind in ('credit', 'promo', 'limit') and a.org_id <> t.org_id) as strangers,
           (array_agg(e.account_id::text) filter (where a.id is null))[1] as lost_account
      from ${legs}
      left join ledger_accounts a on a.id = e.account_id
     where ${inIdRange(sql`e.transfer_id`, range)}
     group by e.transfer_id, t.id`;
}

function transferRows(range: IdRange, orgUuid: string | null): Sql {
  return sql`
    select t.id as subject, t.org_id, legs.transfer_id is not null as has_entries, o.id is not null as has_org
      from ledger_transfers t
      left join (select transfer_id from ledger_entries where ${inIdRange(sql`transfer_id`, range)} group by 1) as legs
        on legs.transfer_id = t.id
      left join organisations o on o.id = t.org_id
     where ${transfersOf(range, orgUuid)}`;
}

function chargedHoldRows(range: IdRange, orgUuid: string | null): Sql {
  return sql`
    select t.id as subject, t.org_id, t.mode, t.hold_id, h.id as found_hold, h.org_id as hold_org, h.mode as hold_mode
      from ledger_transfers t left join ledger_holds h on h.id = t.hold_id
     where t.hold_id is not null and ${transfersOf(range, orgUuid)}`;
}

function undoneRows(range: IdRange, orgUuid: string | null): Sql {
  return sql`
    select t.id as subject, t.org_id, t.mode, t.reverses,
           undone.id as found_undone, undone.org_id as undone_org, undone.mode as undone_mode
      from ledger_transfers t left join ledger_transfers undone on undone.id = t.reverses
     where t.reverses is not null and ${transfersOf(range, orgUuid)}`;
}

const legChecks: Probe['checks'] = [
  { name: 'transfer_sums_to_zero', expected: sql`0`, actual: sql`q.total` },
  {
    name: 'entry_has_transfer',
    wrong: sql`not q.is_there`,
    expected: sql`'a transfer'`,
    actual: sql`q.entries || ' entries alone'`,
  },
  {
    name: 'entry_has_account',
    wrong: sql`q.lost_account is not null`,
    expected: sql`'an account'`,
    actual: sql`'no account ' || q.lost_account`,
  },
  { name: 'transfer_amount', judges: sql`q.is_there`, expected: sql`q.own`, actual: sql`q.amount` },
  {
    name: 'budget_counts_by_itself',
    // If all entries do not sum to zero, that is the finding.
    wrong: sql`q.counted <> 0 and q.total = 0`,
    expected: sql`0`,
    actual: sql`q.counted`,
  },
  {
    name: 'transfer_one_mode',
    judges: sql`q.is_there`,
    wrong: sql`q.other_mode > 0`,
    expected: sql`q.mode`,
    actual: sql`q.other_mode || ' entries in the other mode'`,
  },
  {
    name: 'transfer_one_owner',
    judges: sql`q.is_there`,
    wrong: sql`q.strangers > 0`,
    expected: sql`'its own accounts'`,
    actual: sql`q.strangers || ' entries of another organisation'`,
  },
  {
    name: 'shortfall',
    judges: sql`q.is_there`,
    wrong: sql`q.shortfall > 0`,
    expected: sql`0`,
    actual: sql`q.shortfall || ' nano-USD for ' || q.cause_kind || ' ' || q.cause_id`,
  },
];

const transferChecks: Probe['checks'] = [
  {
    name: 'transfer_has_entries',
    wrong: sql`not q.has_entries`,
    expected: sql`'entries'`,
    actual: sql`'none'`,
  },
  {
    name: 'transfer_has_organisation',
    wrong: sql`not q.has_org`,
    expected: sql`'an organisation'`,
    actual: sql`'no organisation ' || q.org_id`,
  },
];

const holdCheck: ProbeCheck = {
  name: 'transfer_has_its_hold',
  wrong: sql`q.found_hold is null or (q.hold_org, q.hold_mode) <> (q.org_id, q.mode)`,
  expected: sql`'a hold of its organisation and mode'`,
  actual: sql`case when q.found_hold is null then 'no hold ' || q.hold_id
                   else 'a hold of organisation ' || q.hold_org || ' in ' || q.hold_mode end`,
};

const originalCheck: ProbeCheck = {
  name: 'undo_has_its_original',
  wrong: sql`q.found_undone is null or (q.undone_org, q.undone_mode) <> (q.org_id, q.mode)`,
  expected: sql`'a transfer of its organisation and mode'`,
  actual: sql`case when q.found_undone is null then 'no transfer ' || q.reverses
                   else 'a transfer of organisation ' || q.undone_org || ' in ' || q.undone_mode end`,
};

/**
 * Checks that refunds and reversals of a transfer do not exceed it, by owner. Only transfers with an undo in the range are
 * checked, but all of their undos count. Budgets are not undone.
 */
export function undoProbe(range: IdRange, orgUuid: string | null): Probe {
  return {
    rows: sql`
      with undone as (
        select distinct reverses as id from ledger_transfers
         where reverses is not null and ${inIdRange(sql`id`, range)} and ${organisationCondition(orgUuid, 'ledger_transfers')}
      ),
      given_back as (
        select undone.id, e.account_id, sum(e.amount_nano_usd) as amount
          from undone
          join ledger_transfers undoing on undoing.reverses = undone.id
          join ledger_entries e on e.transfer_id = undoing.id
         group by undone.id, e.account_id
      ),
      owners as (
        select given_back.id, a.org_id, a.kind, a.product, a.mode, sum(given_back.amount) as amount
          from given_back join ledger_accounts a on a.id = given_back.account_id
         group by 1, 2, 3, 4, 5
      ),
      moved as (
        select undone.id, a.org_id, a.kind, a.product, a.mode, sum(e.amount_nano_usd) as amount
          from undone
          join ledger_entries e on e.transfer_id = undone.id
          join ledger_accounts a on a.id = e.account_id
         group by 1, 2, 3, 4, 5
      )
      select original.id as subject, original.org_id,
             bool_or(sign(back.amount) = sign(moved.amount)
                     or abs(back.amount) > abs(coalesce(moved.amount, 0))) as too_much,
             string_agg(back.kind || ' ' || coalesce(moved.amount, 0), ', ' order by back.kind) as went,
             string_agg(back.kind || ' ' || back.amount, ', ' order by back.kind) as came_back
        from owners back
        join ledger_transfers original on original.id = back.id
        left join moved on moved.id = back.id and moved.kind = back.kind and moved.mode = back.mode
              and moved.org_id is not distinct from back.org_id
              and moved.product is not distinct from back.product
       where back.kind not in ('limit', 'limit_contra') and back.amount <> 0
       group by original.id, original.org_id`,
    about: 'transfer',
    checks: [
      {
        name: 'undo_within_original',
        wrong: sql`q.too_much`,
        expected: sql`q.went`,
        actual: sql`q.came_back`,
      },
    ],
  };
}
