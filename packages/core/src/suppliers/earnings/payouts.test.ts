import { describe, expect, it } from 'vitest';
import { payoutSettlementAction } from './payouts.ts';

describe('settling a payout', () => {
  it.each([
    ['requested', 'paid', 'settle'],
    ['requested', 'rejected', 'settle'],
    ['paid', 'paid', 'done'],
    ['rejected', 'rejected', 'done'],
    ['paid', 'rejected', 'conflict'],
    ['rejected', 'paid', 'conflict'],
  ] as const)('that is %s as %s: %s', (status, outcome, expected) => {
    expect(payoutSettlementAction(status, outcome)).toBe(expected);
  });
});
