import { describe, expect, it } from 'vitest';
import { percentIssue, integerIssue } from './number-issues.ts';
import { reasonIssue } from './reason.ts';

describe('percentIssue and integerIssue', () => {
  it.each(['0', '12.5', '100', '0.0001', ' 7 '])('accept %j as a percentage', (text) => {
    expect(percentIssue('It', text)).toBe(false);
  });
  it.each(['', '-1', '100.1', '1e1', '0.00001', '12,5', 'NaN'])('reject %j as a percentage', (text) => {
    expect(percentIssue('It', text)).toContain('percentage');
  });
  it('accept only whole numbers within the bounds', () => {
    expect(integerIssue('It', '30', { min: 1, max: 3_650 })).toBe(false);
    for (const text of ['', '0', '3651', '1.5', '1e2', '-3']) {
      expect(integerIssue('It', text, { min: 1, max: 3_650 })).toContain('whole number');
    }
  });
});

describe('reasonIssue', () => {
  it('requires a reason that fits into the audit log', () => {
    expect(reasonIssue('fan')).toBe(false);
    for (const empty of ['', '  ', ' ab ']) expect(reasonIssue(empty)).toContain('reason');
    expect(reasonIssue('x'.repeat(501))).toContain('1 characters too long');
  });
});
