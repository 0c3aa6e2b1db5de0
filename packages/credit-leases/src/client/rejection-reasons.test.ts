import { describe, expect, it } from 'vitest';
import { toAdmissionErrorReason } from './rejection-reasons.ts';

describe('toAdmissionErrorReason', () => {
  it.each([
    ['no money', 'INSUFFICIENT_BALANCE'],
    ['budget exceeded', 'BUDGET_EXCEEDED'],
    ['frozen', 'ACCOUNT_FROZEN'],
    ['busy', 'LEDGER_UNAVAILABLE'],
    [null, 'LEDGER_UNAVAILABLE'],
  ] as const)('maps %s to %s', (ledger, reason) => {
    expect(toAdmissionErrorReason(ledger)).toBe(reason);
  });
});
