import { defineCommand } from '../../framework/command.ts';
import { printRecord } from '../../framework/output.ts';
import {
  budgetColumns,
  budgetPeriods,
  consequenceFlag,
  parseLimit,
  thresholdFlag,
  parseThresholds,
} from '../../money/budget.ts';

export const command = defineCommand({
  name: 'budget create',
  summary: 'Set a limit on spending, for the organisation or one key',
  description:
    'Periods are those of UTC: whole hours, days, weeks from Monday and months. Unless told otherwise a budget only tells, ' +
    'at 50, 75 and 100 percent.',
  flags: {
    name: { type: 'text', value: 'NAME', required: true, describe: 'what to call it' },
    period: {
      type: 'text',
      value: 'PERIOD',
      choices: budgetPeriods,
      required: true,
      describe: 'when it begins anew',
    },
    limit: { type: 'text', value: 'USD', required: true, describe: 'what may be spent in each period' },
    key: { type: 'text', value: 'KEY_ID', describe: 'count the work of this API key alone' },
    threshold: thresholdFlag,
    'on-exceeded': consequenceFlag,
  },
  examples: {
    'millrace budget create --name monthly --period month --limit 500':
      'tells at 50, 75 and 100 percent of 500 dollars',
    'millrace budget create --name ci --period day --limit 2.50 --on-exceeded stop_new_work':
      'and begins nothing more on a day that cost 2.50',
  },
  operations: ['createBudget'],
  json: 'record',
  failure: 'Could not create the budget',
  advice: { API_KEY_NOT_FOUND: 'millrace key list' },
  run: async (context, { flags }) => {
    const thresholdsPercent = parseThresholds(flags.threshold);
    const budget = await context.client().budgets.create({
      name: flags.name,
      period: flags.period,
      limitNanoUsd: parseLimit(flags.limit),
      keyId: flags.key,
      ...(thresholdsPercent.length === 0 ? {} : { thresholdsPercent }),
      onExceeded: flags['on-exceeded'],
    });
    printRecord(context, budget, budgetColumns);
  },
});
