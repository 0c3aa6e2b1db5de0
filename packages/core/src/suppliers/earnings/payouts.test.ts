import { describe, expect, it } from 'vitest';
import { payoutSettlementAction } from './payouts.ts';

describe('payoutSettlementAction', () => {
  it.each([
    ['requested', 'paid', 'settle'],
    ['requested', 'rejected', 'settle'],
    ['paid', 'paid', 'done'],
    ['rejected', 'rejected', 'done'],
    ['paid', 'rejected', 'conflict'],
    ['rejected', 'paid', 'conflict'],
  ] as const)('of a payout that is %s, settled as %s, returns %s', (status, outcome, expected) => {
    expect(payoutSettlementAction(status, outcome)).toBe(expected);
  });
});
