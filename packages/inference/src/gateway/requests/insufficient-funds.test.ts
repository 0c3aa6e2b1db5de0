import type { InsufficientFunds } from '@millrace/core/credit-leases';
import { describe, expect, it } from 'vitest';
import { insufficientFundsOptions } from './insufficient-funds.ts';

const lack = (over: Partial<InsufficientFunds>): InsufficientFunds => ({
  of: 'budget',
  needed: 132_000n,
  left: 100_000n,
  isReserved: false,
  resetsInMs: null,
  ...over,
});

describe('insufficientFundsOptions', () => {
  it('says what is needed and what is left, also as numbers', () => {
    const told = insufficientFundsOptions(lack({}));
    expect(told.message).toBe(
      'This request must reserve at least 0.000132 USD, but only 0.0001 USD of the budget is left. ' +
        'Raise the budget, or ask for less (max_tokens, choices, prompt).',
    );
    expect(told.extra).toEqual({ needed_nano_usd: '132000', available_nano_usd: '100000' });
    expect(told.retryAfterSeconds).toBeUndefined();
  });

  it('names a time to come back when running requests have reserved the rest', () => {
    const told = insufficientFundsOptions(lack({ isReserved: true, resetsInMs: 5_000 }));
    expect(told).toMatchObject({ retryAfterSeconds: 1, suggestion: expect.stringContaining('Retry-After') });
  });

  it('names the next period of the budget', () => {
    expect(insufficientFundsOptions(lack({ resetsInMs: 61_500 }))).toMatchObject({ retryAfterSeconds: 62 });
  });

  it.each([null, 100_000n])('does not show the balance, known or not', (left) => {
    const told = insufficientFundsOptions(lack({ of: 'balance', left }));
    expect(told.message).toContain('at least 0.000132 USD, more than the balance has left. Top up');
    expect(told.extra).toEqual({ needed_nano_usd: '132000' });
  });
});
