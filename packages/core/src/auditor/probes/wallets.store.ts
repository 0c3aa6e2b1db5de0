import type { Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type OrgId } from '@millrace/platform/ids';
import { sql, type RawBuilder } from 'kysely';
import { startingBalances, type AccountSelection } from './accounts.store.ts';
import type { Finding } from '../checks/audit-report.ts';
import type { Probe } from './run-probe.store.ts';
import { organisationCondition, inIdRange } from './transfers.store.ts';

type Sql = RawBuilder<unknown>;

/**
 * A transfer states the organisation's balance after it. In any order, the end balances equal the start balances, except for the
 * first start and the last end; compared as in the accounts. A payout moves earnings, which are not part of that balance.
 */
export function walletProbe(basis: AccountSelection): Probe {
  return {
    rows: sql`
      with moved as (${walletTransferRows(basis)}),
      steps as (
        select org_id, mode, count(*) as transfers,
               sum(hashint8extended(balance_after_nano_usd, 0)) as ends,
               sum(hashint8extended(balance_after_nano_usd - amount_nano_usd, 0)) as starts
          from moved group by org_id, mode
      ),
      wallets as (${walletRows(basis)})
      select wallets.org_id as subject, wallets.org_id, wallets.mode, coalesce(steps.transfers, 0) as transfers,
             coalesce(steps.ends, 0) + hashint8extended(wallets.before::bigint, 0)
               = coalesce(steps.starts, 0) + hashint8extended(wallets.after::bigint, 0) as follows
        from wallets left join steps using (org_id, mode)`,
    about: 'organisation',
    checks: [
      {
        name: 'transfer_balance_after',
        wrong: sql`not q.follows`,
        expected: sql`q.transfers || ' transfers that lead to the ' || q.mode || ' balance'`,
        actual: sql`'balances after transfers that do not follow on each other'`,
      },
    ],
  };
}

/** Transfers after the checkpoint: those with an entry in the organisation's money that its accounts had not counted. */
function walletTransferRows({ range, fromMarks, orgUuid }: AccountSelection): Sql {
  const afterMark = fromMarks
    ? sql`exists (select 1 from ledger_entries e join ledger_accounts a on a.id = e.account_id
                    left join audit_marks m on m.account_id = a.id
                   where e.transfer_id = t.id and a.kind in ('credit', 'promo')
                     and e.account_seq > coalesce(m.entry_count, 0))`
    : sql`true`;
  return sql`
    select t.id, t.org_id, t.mode, t.amount_nano_usd, t.balance_after_nano_usd from ledger_transfers t
     where ${inIdRange(sql`t.id`, range)} and t.amount_nano_usd <> 0 and t.kind <> 'payout'
       and ${organisationCondition(orgUuid)} and ${afterMark}`;
}

function walletRows({ fromMarks, orgUuid }: AccountSelection): Sql {
  const ofOwner = orgUuid === null ? sql`true` : sql`a.org_id = ${orgUuid}::uuid`;
  return sql`
    select a.org_id, a.mode, sum(a.balance_nano_usd) as after, sum(coalesce(m.balance_nano_usd, 0)) as before
      from ledger_accounts a
      left join ${startingBalances(fromMarks)} m on m.account_id = a.id
     where a.kind in ('credit', 'promo') and ${ofOwner}
     group by a.org_id, a.mode`;
}

/** Transfers of one organisation whose balances match no other transfer. Searched only if its wallet check failed. */
export async function findOrphanTransfers(
  tx: Tx,
  basis: AccountSelection,
  orgId: string,
  cap: number,
): Promise<readonly Pick<Finding, 'subject' | 'expected' | 'actual'>[]> {
  const orgUuid = toUuid(orgId as OrgId);
  const { rows } = await sql<{ id: string; starts_at: bigint; ends_at: bigint }>`
    with moved as (${walletTransferRows({ ...basis, orgUuid })}),
    wallets as (${walletRows({ ...basis, orgUuid })})
    select t.id, t.balance_after_nano_usd - t.amount_nano_usd as starts_at, t.balance_after_nano_usd as ends_at
      from moved t join wallets using (mode)
     where t.balance_after_nano_usd - t.amount_nano_usd <> wallets.before
       and t.balance_after_nano_usd <> wallets.after
       and not exists (select 1 from moved other where other.mode = t.mode and other.id <> t.id
                         and other.balance_after_nano_usd = t.balance_after_nano_usd - t.amount_nano_usd)
       and not exists (select 1 from moved other where other.mode = t.mode and other.id <> t.id
                         and other.balance_after_nano_usd - other.amount_nano_usd = t.balance_after_nano_usd)
     order by t.id limit ${cap}`.execute(tx.kysely);
  return rows.map((row) => ({
    subject: { kind: 'transfer', id: fromUuid('trf', row.id) },
    expected: 'balances that continue those of other transfers',
    actual: `from ${row.starts_at} to ${row.ends_at}`,
  }));
}
