import type { Input, Item } from '@millrace/sdk';
import { parseUsd, percentOf, usdText } from '@millrace/sdk/text';

export type Budget = Item<'listBudgets'>;
export type OnExceeded = Budget['onExceeded'];
type BudgetPeriod = Budget['period'];

export const periods: Readonly<Record<BudgetPeriod, string>> = {
  hour: 'Hour',
  day: 'Day',
  week: 'Week (from Monday)',
  month: 'Calendar month',
  total: 'Total (never resets)',
};

export const consequences: Readonly<Record<OnExceeded, { readonly label: string; readonly about: string }>> =
  {
    notify: { label: 'Notify', about: 'You are notified. Nothing stops.' },
    stop_new_work: {
      label: 'Stop new work',
      about:
        'Nothing new can start until the period ends. Running resources continue and may exceed the budget.',
    },
    stop_everything: {
      label: 'Stop everything',
      about: 'Nothing new can start, and running resources stop when the money held for them is used up.',
    },
  };

export interface Progress {
  readonly percent: number;
  /** Bar width, at most 100. */
  readonly width: number;
  readonly tone: 'good' | 'warn' | 'bad';
  readonly left: bigint;
}

export function budgetProgress({
  spentNanoUsd,
  limitNanoUsd,
  thresholdsPercent,
}: Pick<Budget, 'spentNanoUsd' | 'limitNanoUsd' | 'thresholdsPercent'>): Progress {
  const [spent, limit] = [BigInt(spentNanoUsd), BigInt(limitNanoUsd)];
  const percent = percentOf(spent, limit);
  const first = Math.min(100, ...thresholdsPercent);
  return {
    percent,
    width: Math.max(0, Math.min(100, percent)),
    tone: spent >= limit ? 'bad' : percent >= first ? 'warn' : 'good',
    left: limit > spent ? limit - spent : 0n,
  };
}

export interface BudgetFields {
  readonly name: string;
  readonly keyId: string;
  readonly period: string;
  readonly limit: string;
  readonly thresholds: string;
  readonly onExceeded: string;
}

export type BudgetIssues = Partial<Record<keyof BudgetFields, string>>;

/** Unique whole percentages in ascending order; null if one is invalid. */
export function parseThresholds(typed: string): number[] | null {
  const words = typed.split(/[\s,;%]+/).filter((word) => word !== '');
  const numbers = words.map(Number);
  if (numbers.some((each) => !Number.isInteger(each) || each < 1 || each > 100)) return null;
  const unique = [...new Set(numbers)].toSorted((a, b) => a - b);
  return unique.length > 10 ? null : unique;
}

/** Parses the form into the API request, or returns validation issues. */
export function parseBudgetForm(
  fields: BudgetFields,
): { readonly body: Input<'createBudget'> } | { readonly problems: BudgetIssues } {
  const limit = parseUsd(fields.limit);
  const thresholdsPercent = parseThresholds(fields.thresholds);
  const name = fields.name.trim();
  const problems: BudgetIssues = {
    ...(name === '' ? { name: 'Enter a name.' } : {}),
    ...(limit === null || limit <= 0n
      ? { limit: 'Enter an amount above zero in dollars, such as 500.' }
      : {}),
    ...(thresholdsPercent === null
      ? { thresholds: 'Enter up to ten whole percentages from 1 to 100, such as 50, 75, 100.' }
      : {}),
  };
  if (limit === null || thresholdsPercent === null || Object.keys(problems).length > 0) return { problems };
  return {
    body: {
      name,
      period: fields.period as BudgetPeriod,
      limitNanoUsd: limit.toString(),
      thresholdsPercent,
      onExceeded: fields.onExceeded as OnExceeded,
      ...(fields.keyId === '' ? {} : { keyId: fields.keyId }),
    },
  };
}

export const emptyBudget: BudgetFields = {
  name: 'Monthly',
  keyId: '',
  period: 'month',
  limit: '',
  thresholds: '50, 75, 100',
  onExceeded: 'notify',
};

/** The form fields of a budget, with the exact amount and no formatting. */
export function toBudgetFields(budget: Budget): BudgetFields {
  return {
    name: budget.name,
    keyId: budget.keyId ?? '',
    period: budget.period,
    limit: usdText(budget.limitNanoUsd).replaceAll(/[$,]/g, ''),
    thresholds: budget.thresholdsPercent.join(', '),
    onExceeded: budget.onExceeded,
  };
}

/** The fields that can be updated: not period and key. */
export function toBudgetUpdate(body: Input<'createBudget'>): Omit<Input<'updateBudget'>, 'budgetId'> {
  const { name, limitNanoUsd, thresholdsPercent, onExceeded } = body;
  return {
    name,
    limitNanoUsd,
    ...(thresholdsPercent === undefined ? {} : { thresholdsPercent }),
    ...(onExceeded === undefined ? {} : { onExceeded }),
  };
}
