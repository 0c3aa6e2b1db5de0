import { describe, expect, it } from 'vitest';
import { payoutIssue } from './payout-issue.ts';

describe('payoutIssue', () => {
  it('accepts at most the exact payable amount', () => {
    expect(payoutIssue('12.345678901', '12345678901')).toBe(false);
    expect(payoutIssue('12.345678902', '12345678901')).toContain('$12.345678901');
    expect(payoutIssue('1', '-5')).toContain('payable');
  });

  it('requires an amount above zero', () => {
    for (const text of ['', 'all', '1.0000000001']) expect(payoutIssue(text, '100')).toContain('dollars');
    for (const text of ['0', '-1']) expect(payoutIssue(text, '100')).toContain('above zero');
  });
});
