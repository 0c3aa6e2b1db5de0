import { sql } from 'kysely';
import type { Probe } from './run-probe.store.ts';

/**
 * Checks that the rest of a budget plus the spending in its period is its limit. The start of a period is an entry (cause
 * `budget`, step `period:…`), so the order is that of the account and not that of a clock.
 */
export function budgetProbe(orgUuid: string | null): Probe {
  const ofOrganisation = orgUuid === null ? sql`true` : sql`b.org_id = ${orgUuid}::uuid`;
  return {
    rows: sql`
      with legs as (
        select e.account_id, e.account_seq, e.amount_nano_usd as amount, t.kind = 'budget' as is_limit,
               t.kind = 'budget' and position(':period:' in t.idempotency_key) > 0 as is_start
          from budgets b
          join ledger_transfers t on t.org_id = b.org_id and t.mode = b.mode
          join ledger_entries e on e.transfer_id = t.id and e.account_id = b.id
          left join ledger_opening_balances opening on opening.account_id = b.id
         where e.account_seq > coalesce(opening.entry_count, 0) and b.deleted_at is null and ${ofOrganisation}
      ),
      starts as (select account_id, max(account_seq) as seq from legs where is_start group by account_id),
      spent as (
        select legs.account_id, -sum(legs.amount) as amount
          from legs left join starts on starts.account_id = legs.account_id
         where not legs.is_limit and legs.account_seq > coalesce(starts.seq, 0)
         group by legs.account_id
      )
      select b.id as subject, b.org_id, b.limit_nano_usd as limit_amount, a.balance_nano_usd as balance,
             coalesce(spent.amount, 0) + case when starts.seq is null then coalesce(archived.amount_nano_usd, 0) else 0 end as spent,
             (a.org_id, a.mode, a.kind) is not distinct from (b.org_id, b.mode, 'limit') as has_account
        from budgets b
        left join ledger_accounts a on a.id = b.id
        left join spent on spent.account_id = b.id
        left join starts on starts.account_id = b.id
        left join ledger_archived_totals archived on archived.subject = b.id and archived.measure = 'budget_spent'
       where b.deleted_at is null and ${ofOrganisation}`,
    about: 'budget',
    checks: [
      {
        name: 'budget_account',
        wrong: sql`not q.has_account`,
        expected: sql`'a limit account of the same id, organisation and mode'`,
        actual: sql`'none'`,
      },
      {
        name: 'budget_left',
        judges: sql`q.has_account`,
        expected: sql`q.limit_amount - q.spent`,
        actual: sql`q.balance`,
      },
    ],
  };
}
