import { defineCommand } from '../../framework/command.ts';
import { printJson, printList, printRecord } from '../../framework/output.ts';
import { invoiceColumns, invoiceLineColumns } from '../../money/invoice.ts';

export const command = defineCommand({
  name: 'invoice get',
  summary: 'Show an invoice with its lines',
  positionals: [{ name: 'invoiceId', describe: 'the id of the invoice, ivc_…' }],
  examples: {
    'millrace invoice get ivc_01JD8Q7XK4T2M9V6B3N5C1F0GH': 'The lines of the month',
    'millrace invoice get ivc_01JD8Q7XK4T2M9V6B3N5C1F0GH --json': 'For accounting',
  },
  operations: ['getInvoice'],
  json: 'record',
  failure: 'Could not read the invoice',
  run: async (context, { args: { invoiceId } }) => {
    const invoice = await context.client().invoices.get({ invoiceId });
    if (context.output.format === 'json') {
      printJson(context, invoice);
      return;
    }
    // --columns selects columns of the lines; the header of an invoice is always complete.
    printRecord({ ...context, output: { format: 'table', columns: undefined } }, invoice, [
      ...invoiceColumns,
      { name: 'issuer', value: ({ issuer }) => issuer },
      { name: 'billed-to', value: ({ billedTo }) => billedTo },
    ]);
    context.io.out('\n');
    printList(context, invoice.lines, invoiceLineColumns, { empty: 'The invoice has no lines.' });
  },
});
