import type { Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type LedgerAccountId } from '@millrace/platform/ids';
import { sql, type RawBuilder } from 'kysely';
import type { Probe } from './run-probe.store.ts';
import { organisationCondition, inIdRange, type IdRange } from './transfers.store.ts';

type Sql = RawBuilder<unknown>;

/** Which entries are checked: those since the checkpoint of each account, or all that are not archived. */
export interface AccountSelection {
  readonly range: IdRange;
  readonly fromMarks: boolean;
  readonly orgUuid: string | null;
}

/**
 * Each entry leads from (seq - 1, balance before) to (seq, balance after). The entries of an account form one chain from its
 * checkpoint to its current (entry_count, balance) exactly if the end points plus the checkpoint equal the start points plus
 * the current state: seq only grows, so there can be no separate cycle. The two lists are compared as sums of 64-bit hashes,
 * which needs no sorting and detects gaps, repeated numbers and wrong balances.
 */
const chainPointHash = (seq: Sql, balance: Sql): Sql => sql`hashint8extended(${seq}, ${balance})`;

/** Where the entries of an audit begin: at the last clean audit, or at the balances that the archive recorded. */
export function startingBalances(fromMarks: boolean): Sql {
  return fromMarks ? sql`audit_marks` : sql`ledger_opening_balances`;
}

/** Closed holds far outnumber open ones and hold nothing, which full audits check. */
const openHoldRows = sql`
  ledger_holds hold join ledger_hold_parts part on part.hold_id = hold.id and hold.closed_at is null`;

export function accountProbe(basis: AccountSelection): Probe {
  return { rows: selectAccountRows(basis), about: 'account', checks: accountChecks };
}

/** Each archived transfer sums to zero, so its accounts do. Their number grows with the accounts and not with the archive. */
export function openingBalanceProbe(): Probe {
  return {
    rows: sql`
      select coalesce(a.mode, 'of no account') as subject, null::uuid as org_id, sum(o.balance_nano_usd) as total
        from ledger_opening_balances o left join ledger_accounts a on a.id = o.account_id
       group by a.mode`,
    about: 'thing',
    checks: [{ name: 'opening_balances', expected: sql`0`, actual: sql`q.total` }],
  };
}

function selectAccountRows({ range, fromMarks, orgUuid }: AccountSelection): Sql {
  const starts = startingBalances(fromMarks);
  const ofOwner = orgUuid === null ? sql`true` : sql`a.org_id = ${orgUuid}::uuid`;
  // Entries have no index by account, so those of one organisation are found through its transfers. Earnings of a supplier are in
  // the transfers of other organisations, so only an audit of all can sum them.
  const entries =
    orgUuid === null
      ? sql`ledger_entries e`
      : sql`ledger_transfers t join ledger_entries e on e.transfer_id = t.id and ${organisationCondition(orgUuid)}`;
  return sql`
    with chain as (
      select e.account_id, count(*) as entries, sum(e.amount_nano_usd) as total,
             sum(${chainPointHash(sql`e.account_seq`, sql`e.balance_after_nano_usd`)}) as ends,
             sum(${chainPointHash(sql`e.account_seq - 1`, sql`e.balance_after_nano_usd - e.amount_nano_usd`)}) as starts
        from ${entries}
        left join ${starts} m on m.account_id = e.account_id
       where ${inIdRange(sql`e.transfer_id`, range)} and e.account_seq > coalesce(m.entry_count, 0)
       group by e.account_id
    ),
    parts as (
      select part.account_id, sum(part.held_nano_usd) as held
        from ${fromMarks ? openHoldRows : sql`ledger_hold_parts part`}
       where part.held_nano_usd > 0
       group by part.account_id
    )
    select a.id as subject, a.org_id, a.kind, a.balance_nano_usd as balance, a.entry_count,
           ${orgUuid === null ? sql`true` : sql`a.kind <> 'supplier_payable'`} as is_whole,
           a.held_nano_usd as held, a.floor_nano_usd as floor, coalesce(parts.held, 0) as parts_held,
           coalesce(m.balance_nano_usd, 0) + coalesce(chain.total, 0) as summed,
           coalesce(m.entry_count, 0) + coalesce(chain.entries, 0) as counted,
           coalesce(chain.ends, 0) + ${chainPointHash(sql`coalesce(m.entry_count, 0)`, sql`coalesce(m.balance_nano_usd, 0)`)}
             = coalesce(chain.starts, 0) + ${chainPointHash(sql`a.entry_count`, sql`a.balance_nano_usd`)} as is_chain
      from ledger_accounts a
      left join ${starts} m on m.account_id = a.id
      left join chain on chain.account_id = a.id
      left join parts on parts.account_id = a.id
     where ${ofOwner}`;
}

const accountChecks: Probe['checks'] = [
  { name: 'account_balance', judges: sql`q.is_whole`, expected: sql`q.summed`, actual: sql`q.balance` },
  {
    name: 'account_entry_count',
    judges: sql`q.is_whole`,
    expected: sql`q.counted`,
    actual: sql`q.entry_count`,
  },
  {
    name: 'account_chain',
    judges: sql`q.is_whole`,
    // A wrong balance or count also breaks the chain; report only the cause.
    wrong: sql`not q.is_chain and q.balance = q.summed and q.entry_count = q.counted`,
    expected: sql`'a chain of ' || q.counted || ' entries'`,
    actual: sql`'entries that do not follow on each other'`,
  },
  {
    name: 'account_floor',
    judges: sql`q.floor is not null`,
    wrong: sql`q.balance - q.held < q.floor`,
    expected: sql`'at least ' || q.floor`,
    actual: sql`q.balance - q.held`,
  },
  { name: 'account_held', expected: sql`q.parts_held`, actual: sql`q.held` },
];

/** The first broken link of each of these accounts. Reads every entry in the range, so only call it if a chain is broken. */
export async function findBrokenLinks(
  tx: Tx,
  basis: AccountSelection,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const starts = startingBalances(basis.fromMarks);
  const uuids = accountIds.map((id) => toUuid(id as LedgerAccountId));
  const { rows } = await sql<BrokenLinkRow>`
    with links as (
      select e.account_id, e.transfer_id, e.account_seq as seq,
             e.balance_after_nano_usd - e.amount_nano_usd as before,
             coalesce(lag(e.account_seq) over chain, m.entry_count, 0) + 1 as expected_seq,
             coalesce(lag(e.balance_after_nano_usd) over chain, m.balance_nano_usd, 0) as expected_before
        from ledger_entries e
        left join ${starts} m on m.account_id = e.account_id
       where ${inIdRange(sql`e.transfer_id`, basis.range)} and e.account_seq > coalesce(m.entry_count, 0)
         and e.account_id = any(${uuids}::uuid[])
      window chain as (partition by e.account_id order by e.account_seq, e.transfer_id)
    )
    select distinct on (account_id) * from links
     where (seq, before) <> (expected_seq, expected_before)
     order by account_id, seq`.execute(tx.kysely);
  return new Map(rows.map((row) => [fromUuid('lac', row.account_id), describeBrokenLink(row)]));
}

interface BrokenLinkRow {
  account_id: string;
  transfer_id: string;
  seq: bigint;
  expected_seq: bigint;
  before: bigint;
  expected_before: bigint;
}

function describeBrokenLink(row: BrokenLinkRow): string {
  const which = `entry ${row.seq}, of ${fromUuid('trf', row.transfer_id)},`;
  return row.seq === row.expected_seq
    ? `${which} starts from ${row.before} nano-USD, but the previous entry ended at ${row.expected_before}`
    : `${which} is in the position of entry ${row.expected_seq}`;
}
