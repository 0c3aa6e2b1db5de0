import { defineCommand } from '../../framework/command.ts';
import { invoiceColumns } from '../../money/invoice.ts';
import { limitFlag, pageSize, printLimitedList } from '../../money/limit.ts';

export const command = defineCommand({
  name: 'invoice list',
  summary: 'List invoices, newest first',
  flags: limitFlag,
  examples: {
    'millrace invoice list': 'one for each month in which something was charged',
    'millrace invoice list --json': 'for accounting',
  },
  operations: ['listInvoices'],
  json: 'list',
  failure: 'Could not list the invoices',
  run: (context, { flags: { limit } }) =>
    printLimitedList(context, context.client().invoices.list({ limit: pageSize(limit) }), invoiceColumns, {
      limit,
      noun: 'invoices',
      empty: 'There is no invoice yet: the first comes after the first month. Meanwhile: millrace usage',
    }),
});
