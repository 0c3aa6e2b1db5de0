import type { Reason } from './errors.ts';

/**
 * The states of everything that lives, as one table each. Server guards, disabled buttons with their reasons,
 * command-line errors and the docs read these tables and hold no rule of their own.
 */

/** What a state allows: the action; the first answer again; or a refusal with its reason. */
export type Verdict = 'allowed' | 'repeat' | Reason;

export interface StateInfo {
  readonly meaning: string;
  /** A terminal state is never left. */
  readonly terminal: boolean;
  /** What ends the state if nothing else does. Null for terminal states only: no other state may last unwatched. */
  readonly deadline: string | null;
}

export interface Transition<State extends string> {
  /** Null: the object comes into being. */
  readonly from: State | null;
  /** Null: the object leaves the books. */
  readonly to: State | null;
  readonly trigger: string;
  readonly billing: string;
}

export interface StateTable<State extends string, Action extends string> {
  readonly object: string;
  readonly states: Readonly<Record<State, StateInfo>>;
  readonly transitions: readonly Transition<State>[];
  readonly actions: Readonly<Record<Action, Readonly<Record<State, Verdict>>>>;
}

function defineStates<State extends string, Action extends string>(
  table: StateTable<State, Action>,
): StateTable<State, Action> {
  return table;
}

export type RentalState = 'Pending' | 'Running' | 'Unknown' | 'Failed' | 'Terminating' | 'Terminated';
export type RentalAction =
  | 'terminate'
  | 'start'
  | 'stop'
  | 'reboot'
  | 'extend'
  | 'update'
  | 'attach-volume'
  | 'detach-volume';

const ended = {
  Failed: 'ALREADY_TERMINATED',
  Terminated: 'ALREADY_TERMINATED',
} as const;

/** Actions on the machine itself: it must be there, known and not on its way out. */
const needsRunning = {
  ...ended,
  Pending: 'ACTION_IN_PROGRESS',
  Running: 'allowed',
  Unknown: 'ACTION_IN_PROGRESS',
  Terminating: 'ACTION_IN_PROGRESS',
} as const;

/** Actions on the record, which need no machine. */
const needsLife = {
  ...ended,
  Pending: 'allowed',
  Running: 'allowed',
  Unknown: 'allowed',
  Terminating: 'ACTION_IN_PROGRESS',
} as const;

const terminateTrigger = 'terminate, time-to-live, balance floor, term end, or operator';
const terminateBilling = 'stops at the accepted request';

export const rentalStates = defineStates<RentalState, RentalAction>({
  object: 'Rental',
  states: {
    Pending: {
      meaning: 'Accepted: capacity is reserved and the hold is taken; the machine is being made.',
      terminal: false,
      deadline: 'The provisioning deadline moves it to another host once, then to Failed.',
    },
    Running: {
      meaning: 'The machine was proven usable. A stopped rental keeps this state and shows its power apart.',
      terminal: false,
      deadline: 'Its term, its time-to-live or the end of what it can hold; 90 s of silence make it Unknown.',
    },
    Unknown: {
      meaning: 'The engine has been silent for more than 90 s while we were listening.',
      terminal: false,
      deadline: 'After 5 min billing pauses; the fault deadline confirms the host as lost.',
    },
    Failed: {
      meaning: 'The machine could not be made, or was lost with its host.',
      terminal: false,
      deadline: 'Clean-up is driven until it is done.',
    },
    Terminating: {
      meaning: 'Access is cut; the machine is being released and wiped.',
      terminal: false,
      deadline: 'Beyond the release deadline the node is quarantined and the operator alerted.',
    },
    Terminated: { meaning: 'Released. Nothing of it is left.', terminal: true, deadline: null },
  },
  transitions: [
    {
      from: null,
      to: 'Pending',
      trigger: 'accepted: capacity reserved and hold taken in one transaction',
      billing: 'none',
    },
    {
      from: 'Pending',
      to: 'Running',
      trigger: 'readiness proof: an SSH handshake completed and the right hardware seen',
      billing: 'starts (startedAt)',
    },
    {
      from: 'Pending',
      to: 'Failed',
      trigger: 'driver error or deadline, after one automatic move to another host',
      billing: 'hold released, cost 0',
    },
    {
      from: 'Running',
      to: 'Unknown',
      trigger: 'engine silent for more than 90 s',
      billing: 'continues 5 min, then paused and credited back if the host was at fault',
    },
    {
      from: 'Running',
      to: 'Pending',
      trigger: 'start after a stop that released the GPUs: new placement, new proof',
      billing: 'GPU meter stays closed until the proof',
    },
    { from: 'Unknown', to: 'Running', trigger: 'engine back', billing: 'resumes' },
    {
      from: 'Unknown',
      to: 'Failed',
      trigger: 'host fault confirmed',
      billing: 'stopped at the last good sign',
    },
    { from: 'Pending', to: 'Terminating', trigger: terminateTrigger, billing: terminateBilling },
    { from: 'Running', to: 'Terminating', trigger: terminateTrigger, billing: terminateBilling },
    { from: 'Unknown', to: 'Terminating', trigger: terminateTrigger, billing: terminateBilling },
    {
      from: 'Terminating',
      to: 'Terminated',
      trigger: 'driver confirmed release and wipe',
      billing: 'none',
    },
    { from: 'Failed', to: 'Terminated', trigger: 'clean-up done', billing: 'none' },
  ],
  actions: {
    terminate: { ...needsLife, Terminating: 'repeat', Terminated: 'repeat' },
    start: needsRunning,
    stop: needsRunning,
    reboot: needsRunning,
    extend: needsLife,
    update: needsLife,
    'attach-volume': needsRunning,
    'detach-volume': { ...needsRunning, Unknown: 'allowed' },
  },
});

export type VolumeState = 'inactive' | 'active' | 'unknown';
export type VolumeAction = 'attach' | 'detach' | 'update' | 'snapshot' | 'delete';

const needsActive = {
  inactive: 'VOLUME_NOT_ACTIVE',
  active: 'allowed',
  unknown: 'ACTION_IN_PROGRESS',
} as const;

export const volumeStates = defineStates<VolumeState, VolumeAction>({
  object: 'Volume',
  states: {
    inactive: {
      meaning: 'Being provisioned, frozen for want of balance, or kept for its retention window.',
      terminal: false,
      deadline: 'The provisioning deadline, or the end of the retention window, when it is purged.',
    },
    active: {
      meaning: 'Usable.',
      terminal: false,
      deadline: 'The end of what the organisation can hold for it; silence of the backend makes it unknown.',
    },
    unknown: {
      meaning: 'The storage backend is silent.',
      terminal: false,
      deadline: 'The backend is asked until it answers; the operator is alerted.',
    },
  },
  transitions: [
    { from: null, to: 'inactive', trigger: 'accepted', billing: 'none' },
    { from: 'inactive', to: 'active', trigger: 'provisioned and usable, or thawed', billing: 'starts' },
    { from: 'active', to: 'unknown', trigger: 'backend silent', billing: 'continues' },
    { from: 'unknown', to: 'active', trigger: 'backend back', billing: 'continues' },
    {
      from: 'active',
      to: 'inactive',
      trigger: 'delete requested, or balance freeze',
      billing: 'until purge',
    },
    { from: 'inactive', to: null, trigger: 'purged at the end of its retention window', billing: 'ends' },
  ],
  actions: {
    attach: needsActive,
    detach: { inactive: 'allowed', active: 'allowed', unknown: 'allowed' },
    update: needsActive,
    snapshot: needsActive,
    delete: { inactive: 'repeat', active: 'allowed', unknown: 'ACTION_IN_PROGRESS' },
  },
});

export type MachineState =
  | 'node_registering'
  | 'node_ready'
  | 'node_draining'
  | 'node_offline'
  | 'node_quarantined'
  | 'node_removed';
export type MachineAction = 'rent' | 'drain' | 'resume' | 'quarantine' | 'remove';

/** The state in which a machine takes new work: the ready value the interface names. */
export const machineReadyState = 'node_ready' satisfies MachineState;

const unbilled = 'none';

export const machineStates = defineStates<MachineState, MachineAction>({
  object: 'Machine',
  states: {
    node_registering: {
      meaning: 'Seen by fleet sync; its hardware is being read.',
      terminal: false,
      deadline: 'Registration is retried by every sync; the operator is alerted.',
    },
    node_ready: {
      meaning: 'Takes new work.',
      terminal: false,
      deadline: 'Every sync must see it; silence makes it node_offline.',
    },
    node_draining: {
      meaning: 'Keeps what runs on it and takes nothing new.',
      terminal: false,
      deadline: 'The drain deadline set by whoever asked for it.',
    },
    node_offline: {
      meaning: 'The engine no longer sees it.',
      terminal: false,
      deadline: 'Asked for by every sync until it is back or removed.',
    },
    node_quarantined: {
      meaning: 'Kept from new work by a failed check or a stuck release.',
      terminal: false,
      deadline: 'The operator is alerted until it is cleared or removed.',
    },
    node_removed: { meaning: 'Out of the fleet.', terminal: true, deadline: null },
  },
  transitions: [
    { from: null, to: 'node_registering', trigger: 'first seen by sync', billing: unbilled },
    { from: 'node_registering', to: 'node_ready', trigger: 'hardware read by sync', billing: unbilled },
    { from: 'node_ready', to: 'node_draining', trigger: 'operator or supplier', billing: unbilled },
    { from: 'node_draining', to: 'node_ready', trigger: 'operator or supplier', billing: unbilled },
    { from: 'node_ready', to: 'node_offline', trigger: 'health: silent', billing: unbilled },
    { from: 'node_offline', to: 'node_ready', trigger: 'health: back', billing: unbilled },
    { from: 'node_ready', to: 'node_quarantined', trigger: 'health or operator', billing: unbilled },
    { from: 'node_quarantined', to: 'node_ready', trigger: 'operator', billing: unbilled },
    {
      from: 'node_draining',
      to: 'node_removed',
      trigger: 'operator or supplier, once empty',
      billing: unbilled,
    },
    {
      from: 'node_offline',
      to: 'node_removed',
      trigger: 'operator or supplier, once empty',
      billing: unbilled,
    },
    { from: 'node_quarantined', to: 'node_removed', trigger: 'operator, once empty', billing: unbilled },
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
      node_offline: 'INVALID_STATE_TRANSITION',
      node_quarantined: 'INVALID_STATE_TRANSITION',
      node_removed: 'NODE_NOT_FOUND',
    },
    resume: {
      node_registering: 'INVALID_STATE_TRANSITION',
      node_ready: 'repeat',
      node_draining: 'allowed',
      node_offline: 'INVALID_STATE_TRANSITION',
      node_quarantined: 'allowed',
      node_removed: 'NODE_NOT_FOUND',
    },
    quarantine: {
      node_registering: 'INVALID_STATE_TRANSITION',
      node_ready: 'allowed',
      node_draining: 'INVALID_STATE_TRANSITION',
      node_offline: 'INVALID_STATE_TRANSITION',
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

export type InstanceState =
  | 'creating'
  | 'starting'
  | 'online'
  | 'offline'
  | 'stopping'
  | 'terminated'
  | 'failed';
export type InstanceAction = 'terminate';

const instanceStop = { trigger: terminateTrigger, billing: terminateBilling };

export const instanceStates = defineStates<InstanceState, InstanceAction>({
  object: 'Instance',
  states: {
    creating: {
      meaning: 'Accepted: GPUs are reserved and the hold is taken.',
      terminal: false,
      deadline: 'The provisioning deadline, then failed.',
    },
    starting: {
      meaning: 'The engine has it; it is not proven usable yet.',
      terminal: false,
      deadline: 'The provisioning deadline, then failed.',
    },
    online: {
      meaning: 'Proven usable.',
      terminal: false,
      deadline: 'Its time-to-live or the end of what it can hold; silence makes it offline.',
    },
    offline: {
      meaning: 'The engine has been silent for more than 90 s.',
      terminal: false,
      deadline: 'After 5 min billing pauses; the fault deadline stops it.',
    },
    failed: {
      meaning: 'It could not be made.',
      terminal: false,
      deadline: 'Clean-up is driven until it is done.',
    },
    stopping: {
      meaning: 'Access is cut; it is being released.',
      terminal: false,
      deadline: 'Beyond the release deadline the machine is quarantined and the operator alerted.',
    },
    terminated: { meaning: 'Released. Nothing of it is left.', terminal: true, deadline: null },
  },
  transitions: [
    {
      from: null,
      to: 'creating',
      trigger: 'accepted, capacity and hold in one transaction',
      billing: 'none',
    },
    { from: 'creating', to: 'starting', trigger: 'engine accepted it', billing: 'none' },
    { from: 'starting', to: 'online', trigger: 'readiness proof', billing: 'starts' },
    {
      from: 'online',
      to: 'offline',
      trigger: 'engine silent for more than 90 s',
      billing: 'continues 5 min',
    },
    { from: 'offline', to: 'online', trigger: 'engine back', billing: 'resumes' },
    { from: 'creating', to: 'failed', trigger: 'driver error or deadline', billing: 'hold released, cost 0' },
    { from: 'starting', to: 'failed', trigger: 'driver error or deadline', billing: 'hold released, cost 0' },
    { from: 'creating', to: 'stopping', ...instanceStop },
    { from: 'starting', to: 'stopping', ...instanceStop },
    { from: 'online', to: 'stopping', ...instanceStop },
    { from: 'offline', to: 'stopping', ...instanceStop },
    { from: 'failed', to: 'stopping', trigger: 'clean-up', billing: 'none' },
    { from: 'stopping', to: 'terminated', trigger: 'driver confirmed release and wipe', billing: 'none' },
  ],
  actions: {
    terminate: {
      creating: 'allowed',
      starting: 'allowed',
      online: 'allowed',
      offline: 'allowed',
      failed: 'allowed',
      stopping: 'repeat',
      terminated: 'repeat',
    },
  },
});

export const stateTables = {
  rental: rentalStates,
  volume: volumeStates,
  machine: machineStates,
  instance: instanceStates,
} as const;

/** The transition between two states, or undefined where the table knows none. */
export function findTransition<State extends string, Action extends string>(
  table: StateTable<State, Action>,
  from: State | null,
  to: State | null,
): Transition<State> | undefined {
  return table.transitions.find((transition) => transition.from === from && transition.to === to);
}

/** Whether an action may be taken in a state, and if not, why not. */
export function verdictOn<State extends string, Action extends string>(
  table: StateTable<State, Action>,
  action: Action,
  state: State,
): Verdict {
  return table.actions[action][state];
}
