import { toUuid, type OrgId } from '@millrace/platform/ids';
import type { CheckName } from './checks/checks.ts';
import type { SeededInvoice } from './invoices.fixture.ts';

/** Ways to corrupt invoices, and the findings that the auditor must report. */
export interface InvoiceCase {
  readonly what: string;
  readonly alter: (harness: SeededInvoice) => readonly string[];
  readonly names: (
    harness: SeededInvoice & { readonly orgId: OrgId },
  ) => readonly (readonly [CheckName, string])[];
}

const addsUp: InvoiceCase['names'] = (w) => [['invoice_adds_up', w.invoice]];

export const invoiceCases: readonly InvoiceCase[] = [
  {
    what: 'an invoice with another amount than the ledger',
    alter: (w) => [
      `update invoices set total_nano_usd = total_nano_usd + 1,
              lines = jsonb_build_array(jsonb_build_object('amountNanoUsd', (total_nano_usd + 1)::text))
        where id = '${toUuid(w.invoice)}'`,
    ],
    names: addsUp,
  },
  {
    what: 'an invoice whose lines do not sum to its total',
    alter: (w) => [
      'alter table invoices drop constraint invoices_add_up, drop constraint invoices_have_lines',
      `update invoices set lines = '[]' where id = '${toUuid(w.invoice)}'`,
    ],
    names: addsUp,
  },
  {
    what: 'a charge of another month than its invoice',
    alter: (w) => [
      `update ledger_transfers set occurred_at = occurred_at - interval '40 days'
        where id = '${toUuid(w.invoicedCharge)}'`,
    ],
    names: addsUp,
  },
  {
    what: 'an invoiced month without an organisation',
    alter: (w) => [
      `insert into invoice_months (month, finished_at) select period_start, now() from invoices
        where id = '${toUuid(w.invoice)}'`,
    ],
    names: (w) => [['invoice_exists', w.orgId]],
  },
  {
    what: 'a missing number at the end',
    alter: () => ['update invoice_counter set last_number = last_number + 1'],
    names: (w) => [['invoice_number', w.invoice]],
  },
  {
    what: 'a missing number before another',
    alter: (w) => [
      `update invoices set number = 2 where id = '${toUuid(w.invoice)}'`,
      'update invoice_counter set last_number = 2',
    ],
    names: (w) => [['invoice_number', w.invoice]],
  },
];
