import { defineCommand } from '../../framework/command.ts';
import { invoiceColumns } from '../../money/invoice.ts';
import { limitFlag, pageSize, printLimitedList } from '../../money/limit.ts';

export const command = defineCommand({
  name: 'invoice list',
  summary: 'List invoices, newest first',
  flags: limitFlag,
  examples: {
    'millrace invoice list': 'One per month with charges',
    'millrace invoice list --json': 'For accounting',
  },
  operations: ['listInvoices'],
  json: 'list',
  failure: 'Could not list the invoices',
  run: (context, { flags: { limit } }) =>
    printLimitedList(context, context.client().invoices.list({ limit: pageSize(limit) }), invoiceColumns, {
      limit,
      noun: 'invoices',
      empty: 'No invoices yet. The first one follows after the first month. Current usage: millrace usage',
    }),
});
