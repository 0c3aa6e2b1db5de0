import { sql } from 'kysely';
import type { Probe } from './run-probe.store.ts';
import { archiveEnd } from './transfers.store.ts';

/**
 * Checks invoices against the ledger, in both directions. Sums all charges, so only full audits run it. A refund or reversal
 * counts only if it undoes a charge or a credit.
 */
export function invoiceProbe(orgUuid: string | null): Probe {
  const ofOrganisation = (column: 't' | 'i') =>
    orgUuid === null ? sql`true` : sql`${sql.ref(`${column}.org_id`)} = ${orgUuid}::uuid`;
  return {
    rows: sql`
      with costs as (
        select t.org_id, date_trunc('month', t.occurred_at at time zone 'UTC') as month,
               -sum(t.amount_nano_usd) as cost
          from ledger_transfers t
          left join ledger_transfers undone on undone.id = t.reverses
         where t.mode = 'live' and ${ofOrganisation('t')}
           and coalesce(undone.kind, t.kind) in ('charge', 'credit') and t.occurred_at >= ${archiveEnd}
         group by 1, 2
      ),
      walked as (select month at time zone 'UTC' as month from invoice_months where finished_at is not null)
      select coalesce(i.id, costs.org_id) as subject, coalesce(i.org_id, costs.org_id) as org_id, i.id is not null as is_there,
             walked.month is not null as is_walked, to_char(costs.month, 'YYYY-MM') as month,
             coalesce(costs.cost, 0) as cost, i.total_nano_usd as total,
             (select coalesce(sum((line ->> 'amountNanoUsd')::numeric), 0)
                from jsonb_array_elements(i.lines) as line) as line_total
        from (select * from invoices i where ${ofOrganisation('i')} and i.period_start >= ${archiveEnd}) as i
        full join costs on costs.org_id = i.org_id and costs.month = i.period_start at time zone 'UTC'
        left join walked on walked.month = costs.month`,
    about: 'invoice',
    checks: [
      {
        name: 'invoice_adds_up',
        judges: sql`q.is_there`,
        wrong: sql`q.total <> q.cost or q.total <> q.line_total`,
        expected: sql`q.cost`,
        actual: sql`q.total || ', and ' || q.line_total || ' by its lines'`,
      },
      {
        name: 'invoice_exists',
        subject: { kind: 'organisation', id: sql`q.org_id` },
        judges: sql`q.is_walked`,
        wrong: sql`not q.is_there`,
        expected: sql`q.month`,
        actual: sql`'none'`,
      },
    ],
  };
}

/** Checks the numbers of all invoices against their positions, and the last against the counter. */
export function invoiceNumberProbe(): Probe {
  return {
    rows: sql`
      select i.id as subject, i.org_id, i.number,
             -- Numbers that were used before a restore have no invoice here.
             row_number() over (order by i.number) + coalesce((
               select sum(gap.last_number - gap.first_number + 1) from invoice_gaps gap where gap.last_number < i.number
             ), 0) as place,
             row_number() over (order by i.number) = count(*) over () as is_last, counter.last_number
        from invoices i cross join invoice_counter counter`,
    about: 'invoice',
    checks: [
      {
        name: 'invoice_number',
        wrong: sql`q.number <> q.place or q.is_last and q.number <> q.last_number
          and not exists (select from invoice_gaps gap where gap.first_number = q.number + 1 and gap.last_number = q.last_number)`,
        expected: sql`q.place`,
        actual: sql`q.number || ' of ' || q.last_number`,
      },
    ],
  };
}
