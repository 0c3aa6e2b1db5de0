import { describe, expect, it } from 'vitest';
import { rentalStatuses } from './records/rental.ts';
import { volumeStatuses } from './records/volume.ts';
import {
  canTransition,
  findTransition,
  instanceStates,
  machineReadyState,
  machineStates,
  rentalStates,
  stateTables,
  actionDecision,
  volumeStates,
} from './states.ts';

/** Every legal transition as `from>to`; `-` means that the resource does not exist. All other pairs are illegal. */
const legal = {
  rental: [
    '->Pending',
    'Pending>Running',
    'Pending>Failed',
    'Running>Unknown',
    'Running>Pending',
    'Unknown>Running',
    'Unknown>Failed',
    'Pending>Terminating',
    'Running>Terminating',
    'Unknown>Terminating',
    'Terminating>Terminated',
    'Failed>Terminated',
  ],
  volume: [
    '->inactive',
    'inactive>active',
    'active>unknown',
    'unknown>active',
    'active>inactive',
    'inactive>-',
  ],
  machine: [
    '->node_registering',
    'node_registering>node_ready',
    'node_registering>node_offline',
    'node_registering>node_quarantined',
    'node_ready>node_draining',
    'node_ready>node_offline',
    'node_ready>node_quarantined',
    'node_draining>node_ready',
    'node_draining>node_offline',
    'node_draining>node_quarantined',
    'node_draining>node_removed',
    'node_offline>node_registering',
    'node_offline>node_ready',
    'node_offline>node_draining',
    'node_offline>node_quarantined',
    'node_offline>node_removed',
    'node_quarantined>node_ready',
    'node_quarantined>node_registering',
    'node_quarantined>node_offline',
    'node_quarantined>node_removed',
  ],
  instance: [
    '->creating',
    'creating>starting',
    'starting>online',
    'online>offline',
    'offline>online',
    'creating>failed',
    'starting>failed',
    'offline>failed',
    'creating>stopping',
    'starting>stopping',
    'online>stopping',
    'offline>stopping',
    'failed>stopping',
    'failed>terminated',
    'stopping>terminated',
  ],
} as const;

describe.each(Object.keys(stateTables) as (keyof typeof stateTables)[])('state table of a %s', (name) => {
  const table = stateTables[name];
  const states: readonly string[] = Object.keys(table.states);
  const info: Readonly<Record<string, { terminal: boolean; deadline: string | null }>> = table.states;
  const steps: readonly { from: string | null; to: string | null }[] = table.transitions;

  it('has every legal transition and no other', () => {
    const known = steps.map(({ from, to }) => `${from ?? '-'}>${to ?? '-'}`);
    expect(known).toHaveLength(new Set(known).size);
    expect(known.toSorted()).toEqual([...legal[name]].toSorted());
  });

  it('has a transition into every state and out of every non-terminal state', () => {
    for (const state of states) {
      expect(
        steps.some(({ to }) => to === state),
        `into ${state}`,
      ).toBe(true);
      expect(
        steps.some(({ from }) => from === state),
        `out of ${state}`,
      ).toBe(info[state]?.terminal === false);
    }
  });

  it('has a deadline for every non-terminal state', () => {
    for (const state of states) expect(info[state]?.deadline !== null, state).toBe(!info[state]?.terminal);
  });

  it('can reach every state from the first one', () => {
    const reached = new Set<string | null>([null]);
    for (let round = 0; round <= states.length; round += 1) {
      for (const { from, to } of steps) if (reached.has(from)) reached.add(to);
    }
    expect(states.filter((state) => !reached.has(state))).toEqual([]);
  });
});

describe('state tables', () => {
  it('have the same states as the records', () => {
    expect(Object.keys(rentalStates.states).toSorted()).toEqual([...rentalStatuses].toSorted());
    expect(Object.keys(volumeStates.states).toSorted()).toEqual([...volumeStatuses].toSorted());
    expect(Object.keys(machineStates.states)).toContain(machineReadyState);
  });

  it('bill from the readiness check to the accepted terminate request', () => {
    expect(findTransition(rentalStates, 'Pending', 'Running')?.billing).toMatch(/^starts/);
    expect(findTransition(rentalStates, 'Pending', 'Failed')?.billing).toBe('hold released, cost 0');
    expect(findTransition(rentalStates, 'Running', 'Terminating')?.billing).toBe(
      'stops at the accepted request',
    );
    expect(findTransition(rentalStates, 'Running', 'Terminated')).toBeUndefined();
    expect(findTransition(volumeStates, 'inactive', 'active')?.billing).toMatch(/^starts/);
    expect(findTransition(volumeStates, 'active', 'inactive')?.billing).toBe('until purge');
  });

  it('bill an instance like a rental at every shared transition', () => {
    for (const [[from, to], [begin, end]] of [
      [
        ['Pending', 'Failed'],
        ['creating', 'failed'],
      ],
      [
        ['Running', 'Unknown'],
        ['online', 'offline'],
      ],
      [
        ['Unknown', 'Running'],
        ['offline', 'online'],
      ],
      [
        ['Running', 'Terminating'],
        ['online', 'stopping'],
      ],
      [
        ['Terminating', 'Terminated'],
        ['stopping', 'terminated'],
      ],
      [
        ['Unknown', 'Failed'],
        ['offline', 'failed'],
      ],
      [
        ['Failed', 'Terminated'],
        ['failed', 'terminated'],
      ],
    ] as const) {
      const asRental = findTransition(rentalStates, from, to)?.billing;
      expect(findTransition(instanceStates, begin, end)?.billing, `${begin} to ${end}`).toBe(asRental);
    }
  });

  it('allow deleting a volume that never became active or is frozen', () => {
    expect(actionDecision(volumeStates, 'delete', 'inactive')).toBe('allowed');
  });

  it('repeat the first result of terminate and refuse other actions on an ended resource with its reason', () => {
    for (const state of ['Terminating', 'Terminated'] as const) {
      expect(actionDecision(rentalStates, 'terminate', state)).toBe('repeat');
    }
    expect(actionDecision(instanceStates, 'terminate', 'terminated')).toBe('repeat');
    expect(actionDecision(rentalStates, 'stop', 'Terminated')).toBe('ALREADY_TERMINATED');
    expect(actionDecision(rentalStates, 'reboot', 'Pending')).toBe('ACTION_IN_PROGRESS');
    expect(actionDecision(rentalStates, 'reboot', 'Running')).toBe('allowed');
    expect(actionDecision(machineStates, 'rent', 'node_draining')).toBe('MACHINE_NOT_READY');
  });

  it('allow quarantine of a machine from every non-terminal state', () => {
    for (const state of ['node_registering', 'node_ready', 'node_draining', 'node_offline'] as const) {
      expect(actionDecision(machineStates, 'quarantine', state), state).toBe('allowed');
      expect(canTransition(machineStates, state, 'node_quarantined'), state).toBe(true);
    }
    expect(canTransition(machineStates, 'node_ready', 'node_removed')).toBe(false);
    expect(canTransition(machineStates, 'node_removed', 'node_ready')).toBe(false);
  });

  it('refuse rental actions only with the two documented reasons', () => {
    const reasons = new Set(Object.values(rentalStates.actions).flatMap((byState) => Object.values(byState)));
    expect(reasons).toEqual(new Set(['allowed', 'repeat', 'ALREADY_TERMINATED', 'ACTION_IN_PROGRESS']));
  });
});
