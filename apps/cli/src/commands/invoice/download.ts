import { defineCommand } from '../../framework/command.ts';
import { writeFileOutput, fileFlag, readFullBody } from '../../money/file-output.ts';

export const command = defineCommand({
  name: 'invoice download',
  summary: 'Download an invoice as a PDF file',
  positionals: [{ name: 'invoiceId', describe: 'the id of the invoice, ivc_…' }],
  flags: { file: fileFlag },
  examples: {
    'millrace invoice download ivc_01JD8Q7XK4T2M9V6B3N5C1F0GH': 'Into this folder',
    'millrace invoice download ivc_01JD8Q7XK4T2M9V6B3N5C1F0GH --file august.pdf': 'Under another name',
  },
  operations: ['getInvoicePdf'],
  json: { kind: 'none' },
  failure: 'Could not download the invoice',
  run: async (context, { args: { invoiceId }, flags: { file } }) => {
    const response = await context.client().invoices.getPdf({ invoiceId }).asResponse();
    const data = await readFullBody(response);
    const place = await writeFileOutput(context, data, { file, name: `${invoiceId}.pdf`, binary: true });
    if (place !== null) context.io.out(`${place}\n`);
  },
});
