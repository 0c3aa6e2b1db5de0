import { UsageError } from '../framework/errors.ts';
import type { Item } from '../sdk.ts';
import { percentOf, parseUsd, usdText } from '@millrace/sdk/text';
import { timestampText } from '../text/timestamps.ts';

export type Budget = Item<'listBudgets'>;

export const budgetPeriods = ['hour', 'day', 'week', 'month', 'total'] as const;
export const budgetConsequences = ['notify', 'stop_new_work', 'stop_everything'] as const;

export const budgetColumns = [
  { name: 'id', value: (budget: Budget) => budget.id },
  { name: 'name', value: (budget: Budget) => budget.name },
  { name: 'period', value: (budget: Budget) => budget.period },
  { name: 'spent', align: 'right', value: (budget: Budget) => usdText(budget.spentNanoUsd) },
  { name: 'limit', align: 'right', value: (budget: Budget) => usdText(budget.limitNanoUsd) },
  {
    name: 'used',
    align: 'right',
    value: ({ spentNanoUsd, limitNanoUsd }: Budget) =>
      `${percentOf(BigInt(spentNanoUsd), BigInt(limitNanoUsd))} %`,
  },
  { name: 'then', value: ({ onExceeded }: Budget) => onExceeded.replaceAll('_', ' ') },
  {
    name: 'tells at',
    value: ({ thresholdsPercent }: Budget) => thresholdsPercent.map((at) => `${at} %`).join(' '),
  },
  { name: 'key', value: (budget: Budget) => budget.keyId },
  { name: 'ends', value: ({ periodEnd }: Budget) => (periodEnd === null ? '' : timestampText(periodEnd)) },
] as const;

export const thresholdFlag = {
  type: 'list',
  value: 'PERCENT',
  describe: 'notify at these percentages',
} as const;

export const consequenceFlag = {
  type: 'text',
  value: 'WHAT',
  choices: budgetConsequences,
  describe: 'when it is used up: only notify, refuse new work, or also refuse to extend running work',
} as const;

export function parseLimit(typed: string): string {
  const nano = parseUsd(typed);
  if (nano === null || nano <= 0n) {
    throw new UsageError(
      `--limit is ${JSON.stringify(typed)}; use an amount in dollars above zero, such as 100 or 2.50.`,
    );
  }
  return nano.toString();
}

export function parseThresholds(typed: readonly string[]): number[] {
  return typed.map((text) => {
    const percent = Number(text.replace(/%$/, ''));
    if (Number.isInteger(percent) && percent >= 1 && percent <= 100) return percent;
    throw new UsageError(`--threshold is ${JSON.stringify(text)}; use a whole number from 1 to 100.`);
  });
}
