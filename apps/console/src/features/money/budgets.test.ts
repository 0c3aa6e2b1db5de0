import { describe, expect, it } from 'vitest';
import {
  parseBudgetForm,
  toBudgetUpdate,
  emptyBudget,
  toBudgetFields,
  budgetProgress,
  parseThresholds,
  type Budget,
} from './budgets.ts';

const budget: Budget = {
  id: 'bdg_01JD8Q7XK4T2M9V6B3N5C1F0GH',
  name: 'ci',
  keyId: null,
  period: 'day',
  limitNanoUsd: '1234500000001',
  spentNanoUsd: '0',
  periodStart: '2026-11-16T00:00:00Z',
  periodEnd: '2026-11-17T00:00:00Z',
  thresholdsPercent: [50, 100],
  onExceeded: 'stop_new_work',
  createdAt: '2026-11-01T00:00:00Z',
};

describe('budgetProgress', () => {
  const of = (spentNanoUsd: string) =>
    budgetProgress({ spentNanoUsd, limitNanoUsd: '1000', thresholdsPercent: [50] });

  it('stays below 100 % while something is left', () => {
    expect(of('999')).toEqual({ percent: 99, width: 99, tone: 'warn', left: 1n });
  });

  it('may exceed 100 %, but the bar does not', () => {
    expect(of('2500')).toEqual({ percent: 250, width: 100, tone: 'bad', left: 0n });
  });

  it('has a neutral tone below the first threshold', () => {
    expect(of('499').tone).toBe('good');
    expect(of('500').tone).toBe('warn');
  });
});

describe('thresholds', () => {
  it.each([
    ['100, 50,50', [50, 100]],
    ['80%', [80]],
    ['', []],
  ])('%s', (typed, wanted) => {
    expect(parseThresholds(typed)).toEqual(wanted);
  });

  it.each(['0', '101', '50.5', 'half', '1 2 3 4 5 6 7 8 9 10 11'])('rejects %s', (typed) => {
    expect(parseThresholds(typed)).toBeNull();
  });
});

describe('parseBudgetForm', () => {
  it('returns the exact API request', () => {
    const made = parseBudgetForm({ ...emptyBudget, name: ' Monthly ', limit: '$1,234.000000001' });
    expect(made).toEqual({
      body: {
        name: 'Monthly',
        period: 'month',
        limitNanoUsd: '1234000000001',
        thresholdsPercent: [50, 75, 100],
        onExceeded: 'notify',
      },
    });
  });

  it('reports all issues at once', () => {
    const wrong = parseBudgetForm({ ...emptyBudget, name: ' ', limit: '0', thresholds: 'x' });
    expect(Object.keys('problems' in wrong ? wrong.problems : {})).toEqual(['name', 'limit', 'thresholds']);
  });

  it('leaves a budget unchanged when its form is saved unchanged', () => {
    const again = parseBudgetForm(toBudgetFields(budget));
    expect('body' in again ? toBudgetUpdate(again.body) : null).toEqual({
      name: 'ci',
      limitNanoUsd: '1234500000001',
      thresholdsPercent: [50, 100],
      onExceeded: 'stop_new_work',
    });
  });
});
