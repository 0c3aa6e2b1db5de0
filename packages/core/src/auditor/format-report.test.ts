import { readFileSync } from 'node:fs';
import { createIdSource, type OrgId } from '@millrace/platform/ids';
import { testClock } from '@millrace/testing';
import { expect, test } from 'vitest';
import { mergeOutcomes, type AuditReport, type CheckOutcome } from './checks/audit-report.ts';
import { auditChecks } from './checks/checks.ts';
import { formatAuditReport } from './format-report.ts';

const ids = createIdSource({ clock: testClock(), cell: 1 });
const orgId: OrgId = ids.next('org');
const transfer = ids.next('trf');

const sound: CheckOutcome = { check: 'account_balance', lookedAt: 1_200, found: 0, findings: [] };
const drift: CheckOutcome = {
  check: 'transfer_sums_to_zero',
  lookedAt: 30,
  found: 3,
  findings: [
    {
      check: 'transfer_sums_to_zero',
      severity: 'error',
      subject: { kind: 'transfer', id: transfer },
      orgId,
      expected: '0',
      actual: '-1',
      sentence: auditChecks.transfer_sums_to_zero.text({ id: transfer, expected: '0', actual: '-1' }),
    },
  ],
};

function reportOf(outcomes: readonly CheckOutcome[]): AuditReport {
  return {
    kind: 'full',
    orgId: null,
    snapshotAt: new Date('2026-01-02T03:04:05.000Z'),
    since: null,
    archivedThrough: null,
    requestsThrough: null,
    durationMs: 1_234,
    outcomes,
    recorded: true,
  };
}

test('formatAuditReport reports a clean audit with the checked rows and the duration', () => {
  expect(formatAuditReport(reportOf([sound]))).toBe(
    [
      'Full audit as of 2026-01-02T03:04:05.000Z, from the first transfer and the first request.',
      '',
      '  rows  found  rule',
      '  1200      -  The balance of every account is the sum of its entries.',
      '',
      'No drift found: 1 rules in 1.2 s.',
      '',
    ].join('\n'),
  );
});

test('formatAuditReport lists drift with organisation, sentence, number of omitted rows and remedy', () => {
  const text = formatAuditReport(reportOf([sound, drift]));
  expect(text).toContain(`transfer ${transfer} of ${orgId}: Its entries sum to -1 nano-USD instead of zero.`);
  expect(text).toContain('and 2 more');
  expect(text).toContain('Remedy: ');
  expect(text).toContain('docs/runbooks/auditor.md#transfer_sums_to_zero');
  expect(text).toContain('3 wrong rows found: 2 rules in 1.2 s.');
});

test('mergeOutcomes sums the outcomes of one check and keeps only the first findings', () => {
  expect(mergeOutcomes([drift, sound, drift], 1)).toEqual([{ ...drift, lookedAt: 60, found: 6 }, sound]);
});

test('every rule and every remedy is a sentence', () => {
  for (const { rule, remedy } of Object.values(auditChecks)) {
    expect(rule).toMatch(/^[A-Z].+\.$/);
    expect(remedy).toMatch(/^[A-Z].+\.$/);
  }
});

test('the runbook has a section for every check, and no other sections', () => {
  const page = readFileSync(new URL('../../../../docs/runbooks/auditor.md', import.meta.url), 'utf8');
  const sections = [...page.matchAll(/^### (\w+)$/gm)].map(([, name]) => name);
  expect(new Set(sections)).toEqual(new Set(Object.keys(auditChecks)));
  expect(sections).toHaveLength(Object.keys(auditChecks).length);
});

test('formatAuditReport states from when transfers and requests are checked', () => {
  const [through, requests] = [new Date('2025-01-01T00:00:00Z'), new Date('2025-09-01T00:00:00Z')];
  const archived = { ...reportOf([sound]), archivedThrough: through, requestsThrough: requests };
  expect(formatAuditReport(archived)).toContain(
    'from the opening balances of 2025-01-01 and requests of 2025-09-01.',
  );
});
