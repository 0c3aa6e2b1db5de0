import type { InsufficientFunds } from '@millrace/credit-leases/client';
import { describe, expect, it } from 'vitest';
import { insufficientFundsOptions } from './insufficient-funds.ts';

const funds = (over: Partial<InsufficientFunds>): InsufficientFunds => ({
  of: 'budget',
  needed: 132_000n,
  left: 100_000n,
  isReserved: false,
  resetsInMs: null,
  ...over,
});

describe('insufficientFundsOptions', () => {
  it('reports needed and available amount in text and as numbers', () => {
    const fault = insufficientFundsOptions(funds({}));
    expect(fault.message).toBe(
      'This request must reserve at least 0.000132 USD, but only 0.0001 USD of the budget is left. ' +
        'Raise the budget, or request less (max_tokens, choices, prompt).',
    );
    expect(fault.extra).toEqual({ needed_nano_usd: '132000', available_nano_usd: '100000' });
    expect(fault.retryAfterSeconds).toBeUndefined();
  });

  it('returns a retry time if running requests have reserved the rest', () => {
    const fault = insufficientFundsOptions(funds({ isReserved: true, resetsInMs: 5_000 }));
    expect(fault).toMatchObject({ retryAfterSeconds: 1, suggestion: expect.stringContaining('Retry-After') });
  });

  it("returns the time of the budget's next period", () => {
    expect(insufficientFundsOptions(funds({ resetsInMs: 61_500 }))).toMatchObject({ retryAfterSeconds: 62 });
  });

  it.each([null, 100_000n])('does not reveal the balance, known or not', (left) => {
    const fault = insufficientFundsOptions(funds({ of: 'balance', left }));
    expect(fault.message).toContain('at least 0.000132 USD, more than the balance has left. Top up');
    expect(fault.extra).toEqual({ needed_nano_usd: '132000' });
  });
});
