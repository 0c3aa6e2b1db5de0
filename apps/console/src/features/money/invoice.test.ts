import { expect, it } from 'vitest';
import { monthText, sumOfLines } from './invoice.ts';

it('monthText uses UTC, even if the local month differs', () => {
  expect(monthText('2026-11-01T00:00:00.000Z', 'en-GB')).toBe('November 2026');
});

it('sumOfLines adds up to the nano-USD, including credits', () => {
  const line = (amountNanoUsd: string) => ({
    description: '',
    cause: null,
    quantity: '1',
    unit: 'h',
    amountNanoUsd,
  });
  expect(sumOfLines({ lines: [line('9007199254740993'), line('-1')] })).toBe(9_007_199_254_740_992n);
});
