import { defineCommand } from '../../framework/command.ts';
import { budgetColumns, budgetFields } from '../../money/budget.ts';
import { limitFlag, pageSize, printLimitedList } from '../../money/limit.ts';

export const command = defineCommand({
  name: 'budget list',
  summary: 'List budgets and how much of each is used',
  flags: limitFlag,
  examples: [
    { command: 'millrace budget list', about: 'how near each is to its end' },
    { command: 'millrace budget list --columns name,used', about: 'just that' },
  ],
  operations: ['listBudgets'],
  json: { kind: 'list', fields: budgetFields },
  failure: 'Could not list the budgets',
  run: (context, { flags: { limit } }) =>
    printLimitedList(context, context.client().budgets.list({ limit: pageSize(limit) }), budgetColumns, {
      limit,
      noun: 'budgets',
      empty: 'There is no budget. Make one: millrace budget create --name monthly --period month --limit 100',
    }),
});
