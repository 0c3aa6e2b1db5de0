import { describe, expect, it } from 'vitest';
import { formatRestoreReport, type RestoreReport } from './restore-report.ts';

const orgId = 'org_00000000000000000000000001' as never;
const request = (nth: number) => ({
  ...{ requestId: `req_${nth}` as never, orgId, model: 'flour', usedAt: '2026-11-20T12:00:00.000Z' },
  ...{ nanoUsd: '26000', outcome: 'charged' },
});
const report: RestoreReport = {
  restoredTo: '2026-11-20T11:00:00.000Z',
  newestMark: '2026-11-20T12:00:00.000Z',
  ...{ leases: [], machines: [], payments: [], problems: [] },
  invoices: { first: 7, last: 8, known: [{ number: 'INV-00000007', orgId, totalNanoUsd: '500' }] },
  events: [{ orgId, firstSeq: 3, lastSeq: 5, count: 3 }],
  eventTypes: { 'invoice.finalized': 1, 'rental.created': 2 },
  usage: {
    requests: 30,
    nanoUsd: '780000',
    outcomes: {
      charged: { requests: 29, nanoUsd: '754000' },
      unknown_lease: { requests: 1, nanoUsd: '26000' },
    },
    first: Array.from({ length: 25 }, (_, nth) => request(nth)),
    streamFrom: '2026-11-20T11:30:00.000Z',
  },
};

describe('formatRestoreReport', () => {
  it('sums later requests by outcome, lists the first of them, and says how many it leaves out', () => {
    const lines = formatRestoreReport(report).split('\n');
    expect(lines).toContain(
      '  Inference requests: 30, 780000 nano-USD (the stream begins at 2026-11-20T11:30:00.000Z)',
    );
    expect(lines).toContain('    29 charged again: 754000 nano-USD');
    expect(lines).toContain('    1 not charged, because its lease is missing: 26000 nano-USD');
    expect(lines.filter((line) => line.includes('flour, 26000'))).toHaveLength(20);
    expect(lines).toContain('    and 10 more (--json lists the first 25)');
  });

  it('lists invoice numbers with the known organisations and totals, and events by type', () => {
    const text = formatRestoreReport(report);
    expect(text).toContain('Invoice numbers handed out: 7 to 8');
    expect(text).toContain(`INV-00000007 of ${orgId as string}: 500 nano-USD`);
    expect(text).toContain('rental.created: 2');
  });
});
