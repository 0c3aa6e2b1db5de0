import { describe, expect, it } from 'vitest';
import { checkResults } from './audit-checks.ts';

const finding = (check: string, severity: 'error' | 'notice') => ({
  check,
  severity,
  subject: { kind: 'account', id: '1' },
  organisationId: null,
  expected: '0',
  actual: '1',
  sentence: 'It is off.',
  remedy: 'Look.',
});

describe('checkResults', () => {
  it('lists every check with its findings, failed checks first', () => {
    const checks = ['sums', 'holds', 'meters'].map((check) => ({ check, rule: 'must hold', lookedAt: 5 }));
    const findings = [finding('meters', 'error'), finding('meters', 'notice'), finding('holds', 'notice')];
    expect(
      checkResults({ checks, findings }).map(({ check, errors, notices }) => [check, errors, notices]),
    ).toEqual([
      ['meters', 1, 1],
      ['holds', 0, 1],
      ['sums', 0, 0],
    ]);
  });
});
