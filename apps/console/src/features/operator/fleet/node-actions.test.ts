import { machineStateNames } from '@millrace/contract/states';
import { describe, expect, it } from 'vitest';
import { nodeActionDisabledReason, rentalsText } from './node-actions.ts';

describe('what an operator may do to a node', () => {
  it.each([
    ['drain', 'node_ready', false],
    ['drain', 'node_draining', 'It drains already.'],
    ['drain', 'node_quarantined', 'It is quarantined. Put it back into use first.'],
    ['resume', 'node_quarantined', false],
    ['resume', 'node_ready', 'It is in use already.'],
    ['quarantine', 'node_offline', false],
    ['remove', 'node_ready', 'It is ready. Drain it first.'],
    ['remove', 'node_draining', false],
  ] as const)('%s while %s: %s', (action, status, reason) => {
    expect(nodeActionDisabledReason(action, { status, liveRentalCount: 0 })).toBe(reason);
  });

  it('never includes removing one that somebody is on', () => {
    for (const status of machineStateNames) {
      expect(nodeActionDisabledReason('remove', { status, liveRentalCount: 1 })).not.toBe(false);
    }
    expect(nodeActionDisabledReason('remove', { status: 'node_draining', liveRentalCount: 1 })).toContain(
      'One rental is',
    );
  });

  it('counts in words', () => {
    expect([0, 1, 2].map(rentalsText)).toEqual(['No rental is', 'One rental is', '2 rentals are']);
  });
});
