import { defineStates } from './table.ts';

export const machineStateNames = [
  'node_registering',
  'node_ready',
  'node_draining',
  'node_offline',
  'node_quarantined',
  'node_removed',
] as const;
export type MachineState = (typeof machineStateNames)[number];
export type MachineAction = 'rent' | 'drain' | 'resume' | 'quarantine' | 'remove';

/** The state in which a machine accepts new work; docs/interface.md defines this value. */
export const machineReadyState = 'node_ready' satisfies MachineState;

const unbilled = 'none';

export const machineStates = defineStates<MachineState, MachineAction>({
  object: 'Machine',
  states: {
    node_registering: {
      meaning: 'Found by fleet sync; its hardware is being read.',
      terminal: false,
      deadline: 'Every sync retries the registration; the operator is alerted.',
    },
    node_ready: {
      meaning: 'Accepts new work.',
      terminal: false,
      deadline: 'Every sync must find it; otherwise it becomes node_offline.',
    },
    node_draining: {
      meaning: 'Keeps its running work and accepts no new work.',
      terminal: false,
      deadline: 'The deadline that was set with the drain.',
    },
    node_offline: {
      meaning:
        'The engine does not report it, or is unreachable. It returns to its previous or requested state.',
      terminal: false,
      deadline: 'Every sync looks for it until it is back or removed.',
    },
    node_quarantined: {
      meaning: 'Excluded from new work after a failed check or a stuck release.',
      terminal: false,
      deadline: 'The operator is alerted until it is resumed or removed.',
    },
    node_removed: { meaning: 'Removed from the fleet.', terminal: true, deadline: null },
  },
  transitions: [
    { from: null, to: 'node_registering', trigger: 'first found by sync', billing: unbilled },
    { from: 'node_registering', to: 'node_ready', trigger: 'hardware read by sync', billing: unbilled },
    { from: 'node_registering', to: 'node_offline', trigger: 'health: unreachable', billing: unbilled },
    {
      from: 'node_registering',
      to: 'node_quarantined',
      trigger: 'health: failed its checks, or operator',
      billing: unbilled,
    },
    { from: 'node_ready', to: 'node_draining', trigger: 'operator or supplier', billing: unbilled },
    { from: 'node_ready', to: 'node_offline', trigger: 'health: unreachable', billing: unbilled },
    { from: 'node_ready', to: 'node_quarantined', trigger: 'health or operator', billing: unbilled },
    { from: 'node_draining', to: 'node_ready', trigger: 'operator or supplier', billing: unbilled },
    { from: 'node_draining', to: 'node_offline', trigger: 'health: unreachable', billing: unbilled },
    { from: 'node_draining', to: 'node_quarantined', trigger: 'health or operator', billing: unbilled },
    {
      from: 'node_draining',
      to: 'node_removed',
      trigger: 'operator or supplier, when empty',
      billing: unbilled,
    },
    { from: 'node_offline', to: 'node_registering', trigger: 'health: reachable again', billing: unbilled },
    { from: 'node_offline', to: 'node_ready', trigger: 'health: reachable again', billing: unbilled },
    { from: 'node_offline', to: 'node_draining', trigger: 'health: reachable again', billing: unbilled },
    { from: 'node_offline', to: 'node_quarantined', trigger: 'health or operator', billing: unbilled },
    {
      from: 'node_offline',
      to: 'node_removed',
      trigger: 'operator or supplier, when empty',
      billing: unbilled,
    },
    { from: 'node_quarantined', to: 'node_ready', trigger: 'operator', billing: unbilled },
    {
      from: 'node_quarantined',
      to: 'node_registering',
      trigger: 'operator, before its hardware was read',
      billing: unbilled,
    },
    {
      from: 'node_quarantined',
      to: 'node_offline',
      trigger: 'operator, while it is unreachable',
      billing: unbilled,
    },
    { from: 'node_quarantined', to: 'node_removed', trigger: 'operator, when empty', billing: unbilled },
  ],
  actions: {
    rent: {
      node_registering: 'MACHINE_NOT_READY',
      node_ready: 'allowed',
      node_draining: 'MACHINE_NOT_READY',
      node_offline: 'MACHINE_NOT_READY',
      node_quarantined: 'MACHINE_NOT_READY',
      node_removed: 'MACHINE_NOT_FOUND',
    },
    drain: {
      node_registering: 'INVALID_STATE_TRANSITION',
      node_ready: 'allowed',
      node_draining: 'repeat',
      node_offline: 'allowed',
      node_quarantined: 'INVALID_STATE_TRANSITION',
      node_removed: 'NODE_NOT_FOUND',
    },
    resume: {
      node_registering: 'INVALID_STATE_TRANSITION',
      node_ready: 'repeat',
      node_draining: 'allowed',
      node_offline: 'allowed',
      node_quarantined: 'allowed',
      node_removed: 'NODE_NOT_FOUND',
    },
    quarantine: {
      node_registering: 'allowed',
      node_ready: 'allowed',
      node_draining: 'allowed',
      node_offline: 'allowed',
      node_quarantined: 'repeat',
      node_removed: 'NODE_NOT_FOUND',
    },
    remove: {
      node_registering: 'INVALID_STATE_TRANSITION',
      node_ready: 'INVALID_STATE_TRANSITION',
      node_draining: 'allowed',
      node_offline: 'allowed',
      node_quarantined: 'allowed',
      node_removed: 'repeat',
    },
  },
});
