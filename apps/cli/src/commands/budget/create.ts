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
  summary: 'Set a spending limit for the organisation or one key',
  description:
    'Periods are in UTC: whole hours, days, weeks from Monday and months. By default a budget only notifies, at 50, 75 and 100 percent.',
  flags: {
    name: { type: 'text', value: 'NAME', required: true, describe: 'the name of the budget' },
    period: {
      type: 'text',
      value: 'PERIOD',
      choices: budgetPeriods,
      required: true,
      describe: 'when the budget resets',
    },
    limit: { type: 'text', value: 'USD', required: true, describe: 'the limit per period' },
    key: { type: 'text', value: 'KEY_ID', describe: 'count only the spending of this API key' },
    threshold: thresholdFlag,
    'on-exceeded': consequenceFlag,
  },
  examples: {
    'millrace budget create --name monthly --period month --limit 500':
      'Notify at 50, 75 and 100 percent of 500 dollars',
    'millrace budget create --name ci --period day --limit 2.50 --on-exceeded stop_new_work':
      'Also refuse new work on a day that has cost 2.50',
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
