import { describe, expect, it } from 'vitest';
import { machineActionDisabledReason } from './machine-action-reason.ts';

const idle = { drainedAt: null, gpusRented: 0, status: 'node_ready' } as const;
const drained = { ...idle, drainedAt: '2026-08-01T12:00:00.000Z', status: 'node_draining' } as const;

describe('what a supplier may do with a machine', () => {
  it('drains what is in use and puts back what was drained', () => {
    expect(machineActionDisabledReason('drain', idle)).toBe(false);
    expect(machineActionDisabledReason('drain', drained)).toBe('You drained it already.');
    expect(machineActionDisabledReason('resume', drained)).toBe(false);
    expect(machineActionDisabledReason('resume', idle)).toBe('You have not drained it.');
  });

  it('withdraws only what nobody rents', () => {
    expect(machineActionDisabledReason('withdraw', idle)).toBe(false);
    expect(machineActionDisabledReason('withdraw', { ...drained, gpusRented: 1 })).toContain(
      'One GPU is rented',
    );
    expect(machineActionDisabledReason('withdraw', { ...drained, gpusRented: 3 })).toContain(
      '3 GPUs are rented',
    );
  });

  it('does nothing with what is gone', () => {
    for (const verb of ['drain', 'resume', 'withdraw'] as const) {
      expect(machineActionDisabledReason(verb, { ...idle, status: 'node_removed' })).toBe('It is withdrawn.');
    }
  });
});
