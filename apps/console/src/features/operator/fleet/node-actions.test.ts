import { machineStateNames } from '@millrace/contract/states';
import { describe, expect, it } from 'vitest';
import { nodeActionDisabledReason, rentalsText } from './node-actions.ts';

describe('nodeActionDisabledReason', () => {
  it.each([
    ['drain', 'node_ready', false],
    ['drain', 'node_draining', 'The node is already draining.'],
    ['drain', 'node_quarantined', 'The node is quarantined. Return it to service first.'],
    ['resume', 'node_quarantined', false],
    ['resume', 'node_ready', 'The node is already in service.'],
    ['quarantine', 'node_offline', false],
    ['remove', 'node_ready', 'The node is ready. Drain it first.'],
    ['remove', 'node_draining', false],
  ] as const)('%s while %s: %s', (action, status, reason) => {
    expect(nodeActionDisabledReason(action, { status, liveRentalCount: 0 })).toBe(reason);
  });

  it('blocks removing a node with rentals', () => {
    for (const status of machineStateNames) {
      expect(nodeActionDisabledReason('remove', { status, liveRentalCount: 1 })).not.toBe(false);
    }
    expect(nodeActionDisabledReason('remove', { status: 'node_draining', liveRentalCount: 1 })).toContain(
      '1 rental is',
    );
  });

  it('rentalsText agrees in number', () => {
    expect([0, 1, 2].map(rentalsText)).toEqual(['No rental is', '1 rental is', '2 rentals are']);
  });
});
