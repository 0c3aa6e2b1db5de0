import { defineCommand } from '../../framework/command.ts';
import { UsageError } from '../../framework/errors.ts';
import { printRecord } from '../../framework/output.ts';
import {
  budgetColumns,
  consequenceFlag,
  parseLimit,
  thresholdFlag,
  parseThresholds,
} from '../../money/budget.ts';

export const command = defineCommand({
  name: 'budget update',
  summary: 'Change a budget',
  positionals: [{ name: 'budgetId', describe: 'the id of the budget, bdg_…' }],
  flags: {
    name: { type: 'text', value: 'NAME', describe: 'the new name' },
    limit: { type: 'text', value: 'USD', describe: 'the new limit per period' },
    threshold: thresholdFlag,
    'on-exceeded': consequenceFlag,
  },
  examples: {
    'millrace budget update bdg_01JD8Q7XK4T2M9V6B3N5C1F0GH --limit 750': 'Raise the limit',
    'millrace budget update bdg_01JD8Q7XK4T2M9V6B3N5C1F0GH --threshold 80,90,100': 'Notify later',
  },
  operations: ['updateBudget'],
  json: 'record',
  failure: 'Could not change the budget',
  run: async (context, { args: { budgetId }, flags }) => {
    const thresholdsPercent = parseThresholds(flags.threshold);
    const change = {
      ...(flags.name === undefined ? {} : { name: flags.name }),
      ...(flags.limit === undefined ? {} : { limitNanoUsd: parseLimit(flags.limit) }),
      ...(thresholdsPercent.length === 0 ? {} : { thresholdsPercent }),
      ...(flags['on-exceeded'] === undefined ? {} : { onExceeded: flags['on-exceeded'] }),
    };
    if (Object.keys(change).length === 0) {
      throw new UsageError('Nothing to change. Use --name, --limit, --threshold or --on-exceeded.');
    }
    printRecord(context, await context.client().budgets.update({ budgetId, ...change }), budgetColumns);
  },
});
