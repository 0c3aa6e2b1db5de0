import { describe, expect, it } from 'vitest';
import { percentIssue, integerIssue } from './number-issues.ts';
import { reasonIssue } from './reason.ts';

describe('numbers that are typed', () => {
  it.each(['0', '12.5', '100', '0.0001', ' 7 '])('%j is a percentage', (text) => {
    expect(percentIssue('It', text)).toBe(false);
  });
  it.each(['', '-1', '100.1', '1e1', '0.00001', '12,5', 'NaN'])('%j is none', (text) => {
    expect(percentIssue('It', text)).toContain('percentage');
  });
  it('are whole where they must be, and within their bounds', () => {
    expect(integerIssue('It', '30', { min: 1, max: 3_650 })).toBe(false);
    for (const text of ['', '0', '3651', '1.5', '1e2', '-3']) {
      expect(integerIssue('It', text, { min: 1, max: 3_650 })).toContain('whole number');
    }
  });
});

describe('a reason', () => {
  it('says something, and not more than the audit log keeps', () => {
    expect(reasonIssue('fan')).toBe(false);
    for (const empty of ['', '  ', ' ab ']) expect(reasonIssue(empty)).toContain('why');
    expect(reasonIssue('x'.repeat(501))).toContain('1 characters too long');
  });
});
