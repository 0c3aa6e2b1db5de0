import { defineStates, unreachableBilling, terminateBilling, terminateTrigger } from './table.ts';

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
const whileNotEnded = {
  ...ended,
  Pending: 'allowed',
  Running: 'allowed',
  Unknown: 'allowed',
  Terminating: 'ACTION_IN_PROGRESS',
} as const;

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
      billing: unreachableBilling,
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
    terminate: { ...whileNotEnded, Terminating: 'repeat', Terminated: 'repeat' },
    start: needsRunning,
    stop: needsRunning,
    reboot: needsRunning,
    extend: whileNotEnded,
    update: whileNotEnded,
    'attach-volume': needsRunning,
    'detach-volume': { ...needsRunning, Unknown: 'allowed' },
  },
});
