import { defineCommand } from '../../framework/command.ts';
import { printRecord } from '../../framework/output.ts';
import { topUpColumns } from '../../money/topup.ts';

export const command = defineCommand({
  name: 'topup get',
  summary: 'Show a top-up',
  positionals: [{ name: 'paymentId', describe: 'the id of the top-up, pay_…' }],
  examples: {
    'millrace topup get pay_01JD8Q7XK4T2M9V6B3N5C1F0GH': 'Whether it was paid',
    'millrace topup get pay_01JD8Q7XK4T2M9V6B3N5C1F0GH --columns state': 'Only its state',
  },
  operations: ['getTopUp'],
  json: 'record',
  failure: 'Could not read the top-up',
  run: async (context, { args: { paymentId } }) =>
    printRecord(context, await context.client().topUps.get({ paymentId }), topUpColumns),
});
