import { defineCommand } from '../../framework/command.ts';
import { limitFlag, pageSize, printLimitedList } from '../../money/limit.ts';
import { topUpColumns } from '../../money/topup.ts';

export const command = defineCommand({
  name: 'topup list',
  summary: 'List top-ups, newest first',
  flags: limitFlag,
  examples: {
    'millrace topup list': 'Paid and open top-ups',
    'millrace topup list --columns id,state,amount': 'Only these columns',
  },
  operations: ['listTopUps'],
  json: 'list',
  failure: 'Could not list the top-ups',
  run: (context, { flags: { limit } }) =>
    printLimitedList(context, context.client().topUps.list({ limit: pageSize(limit) }), topUpColumns, {
      limit,
      noun: 'top-ups',
      empty: 'No top-ups yet. Add money: millrace topup 25',
    }),
});
