import { describe, expect, it } from 'vitest';
import { ledgerCondition, type AuditReport } from './ledger-condition.ts';

const report = (hour: number, changes: Partial<AuditReport>): AuditReport =>
  ({
    id: `rpt_${String(hour)}`,
    snapshotAt: `2026-11-18T0${String(hour)}:00:00.000Z`,
    isClean: true,
    ...changes,
  }) as AuditReport;

describe('ledgerCondition', () => {
  const failed = report(2, { kind: 'full', isClean: false, errors: 1 });
  const incremental = report(3, { kind: 'incremental' });

  it('is the newest report while none has errors', () => {
    expect(ledgerCondition({ any: incremental, withErrors: null, full: null })).toBe(incremental);
    expect(ledgerCondition({ any: null, withErrors: null, full: null })).toBeNull();
  });

  it('is the report with errors until a later full audit finds none', () => {
    expect(ledgerCondition({ any: incremental, withErrors: failed, full: failed })).toBe(failed);
    const earlier = report(1, { kind: 'full' });
    expect(ledgerCondition({ any: incremental, withErrors: failed, full: earlier })).toBe(failed);
    const later = report(4, { kind: 'full' });
    expect(ledgerCondition({ any: later, withErrors: failed, full: later })).toBe(later);
  });
});
