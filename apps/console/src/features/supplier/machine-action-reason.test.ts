import { describe, expect, it } from 'vitest';
import { machineActionDisabledReason } from './machine-action-reason.ts';

const idle = { drainedAt: null, gpusRented: 0, status: 'node_ready' } as const;
const drained = { ...idle, drainedAt: '2026-08-01T12:00:00.000Z', status: 'node_draining' } as const;

describe('machineActionDisabledReason', () => {
  it('allows draining a machine in service and resuming a drained one', () => {
    expect(machineActionDisabledReason('drain', idle)).toBe(false);
    expect(machineActionDisabledReason('drain', drained)).toBe('The machine is already draining.');
    expect(machineActionDisabledReason('resume', drained)).toBe(false);
    expect(machineActionDisabledReason('resume', idle)).toBe('The machine is not drained.');
  });

  it('allows withdrawing only a machine without rentals', () => {
    expect(machineActionDisabledReason('withdraw', idle)).toBe(false);
    expect(machineActionDisabledReason('withdraw', { ...drained, gpusRented: 1 })).toContain(
      '1 GPU is rented',
    );
    expect(machineActionDisabledReason('withdraw', { ...drained, gpusRented: 3 })).toContain(
      '3 GPUs are rented',
    );
  });

  it('blocks all actions on a withdrawn machine', () => {
    for (const verb of ['drain', 'resume', 'withdraw'] as const) {
      expect(machineActionDisabledReason(verb, { ...idle, status: 'node_removed' })).toBe(
        'The machine was withdrawn.',
      );
    }
  });
});
