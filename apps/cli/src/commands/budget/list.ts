import { defineCommand } from '../../framework/command.ts';
import { budgetColumns } from '../../money/budget.ts';
import { limitFlag, pageSize, printLimitedList } from '../../money/limit.ts';

export const command = defineCommand({
  name: 'budget list',
  summary: 'List budgets and how much of each is used',
  flags: limitFlag,
  examples: {
    'millrace budget list': 'All budgets',
    'millrace budget list --columns name,used': 'Only two columns',
  },
  operations: ['listBudgets'],
  json: 'list',
  failure: 'Could not list the budgets',
  run: (context, { flags: { limit } }) =>
    printLimitedList(context, context.client().budgets.list({ limit: pageSize(limit) }), budgetColumns, {
      limit,
      noun: 'budgets',
      empty: 'No budgets yet. Create one: millrace budget create --name monthly --period month --limit 100',
    }),
});
