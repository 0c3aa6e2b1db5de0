import { expect, it } from 'vitest';
import { monthText, sumOfLines } from './invoice.ts';

it('the month is the one of UTC, also where it is still the month before', () => {
  expect(monthText('2026-11-01T00:00:00.000Z', 'en-GB')).toBe('November 2026');
});

it('lines add up to the nano, those given back too', () => {
  const line = (amountNanoUsd: string) => ({
    description: '',
    cause: null,
    quantity: '1',
    unit: 'h',
    amountNanoUsd,
  });
  expect(sumOfLines({ lines: [line('9007199254740993'), line('-1')] })).toBe(9_007_199_254_740_992n);
});
