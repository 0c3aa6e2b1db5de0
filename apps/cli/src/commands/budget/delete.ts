import { defineCommand } from '../../framework/command.ts';
import { printResult } from '../../framework/output.ts';

export const command = defineCommand({
  name: 'budget delete',
  summary: 'Delete a budget: its limit no longer applies',
  positionals: [{ name: 'budgetId', describe: 'the id of the budget, bdg_…' }],
  examples: {
    'millrace budget delete bdg_01JD8Q7XK4T2M9V6B3N5C1F0GH': 'Asks for confirmation',
    'millrace budget delete bdg_01JD8Q7XK4T2M9V6B3N5C1F0GH --yes': 'In a script',
  },
  operations: ['deleteBudget'],
  json: { kind: 'record', fields: ['id', 'deleted'] },
  failure: 'Could not delete the budget',
  run: async (context, { args: { budgetId } }) => {
    await context.confirm(`Delete the budget ${budgetId}? It no longer limits spending.`);
    await context.client().budgets.delete({ budgetId });
    printResult(context, `Deleted ${budgetId}.`, { id: budgetId, deleted: true });
  },
});
