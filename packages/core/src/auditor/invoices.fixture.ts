import { fromUuid, toUuid, type InvoiceId, type OrgId, type TransferId } from '@millrace/platform/ids';
import { createOrganisation, testIds, type TestDatabase } from '@millrace/testing';
import { apply, charge, grant, transferOf, usd } from './audited-ledger.fixture.ts';

/** A separate organisation with one charge and its invoice, so that other corruptions do not affect it. */
export interface SeededInvoice {
  readonly invoice: InvoiceId;
  readonly invoicedCharge: TransferId;
}

export async function seedInvoice({ db, connect }: TestDatabase): Promise<SeededInvoice> {
  const orgId: OrgId = await createOrganisation(db);
  const [, charged] = await apply(db, grant(orgId, usd(10)), charge(orgId, usd(3)));
  const client = await connect();
  await client.query('begin');
  await client.query('update invoice_counter set last_number = last_number + 1');
  const { rows } = await client.query<{ id: string }>(
    `insert into invoices (id, org_id, mode, number, period_start, period_end, total_nano_usd, lines, billed_to, issuer,
                           finalized_at)
     select $1, $2, 'live', 1, month.start at time zone 'UTC', (month.start + interval '1 month') at time zone 'UTC',
            -t.amount_nano_usd, jsonb_build_array(jsonb_build_object('amountNanoUsd', (-t.amount_nano_usd)::text)), 'a', 'b',
            (month.start + interval '2 months') at time zone 'UTC'
       from ledger_transfers t, lateral (select date_trunc('month', t.occurred_at at time zone 'UTC') as start) as month
      where t.id = $3 returning id`,
    [toUuid(testIds.next('ivc')), toUuid(orgId), toUuid(transferOf(charged))],
  );
  await client.query('commit');
  await client.end();
  return { invoice: fromUuid('ivc', rows[0]?.id ?? ''), invoicedCharge: transferOf(charged) };
}
