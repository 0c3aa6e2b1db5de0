import { defineCommand } from '../../framework/command.ts';
import { budgetColumns } from '../../money/budget.ts';
import { limitFlag, pageSize, printLimitedList } from '../../money/limit.ts';

export const command = defineCommand({
  name: 'budget list',
  summary: 'List budgets and how much of each is used',
  flags: limitFlag,
  examples: {
    'millrace budget list': 'how near each is to its end',
    'millrace budget list --columns name,used': 'just that',
  },
  operations: ['listBudgets'],
  json: 'list',
  failure: 'Could not list the budgets',
  run: (context, { flags: { limit } }) =>
    printLimitedList(context, context.client().budgets.list({ limit: pageSize(limit) }), budgetColumns, {
      limit,
      noun: 'budgets',
      empty: 'There is no budget. Make one: millrace budget create --name monthly --period month --limit 100',
    }),
});
