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

/** Actions on the machine, which must exist, be reachable and not be terminating. */
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
      meaning: 'Accepted: capacity is reserved and the hold is taken; the machine is being created.',
      terminal: false,
      deadline: 'The provisioning deadline moves it to another host once, then to Failed.',
    },
    Running: {
      meaning:
        'The machine passed its readiness check. A stopped rental keeps this state; its power is a separate field.',
      terminal: false,
      deadline: 'Its term, its TTL or the end of the balance; after 90 s without contact it becomes Unknown.',
    },
    Unknown: {
      meaning: 'The engine has been unreachable for more than 90 s of gap-free polling.',
      terminal: false,
      deadline: 'After 5 min billing pauses; the fault deadline confirms the host as lost.',
    },
    Failed: {
      meaning: 'The machine could not be created, or was lost with its host.',
      terminal: false,
      deadline: 'Clean-up is retried until it is complete.',
    },
    Terminating: {
      meaning: 'Network access is removed; the machine is being released and wiped.',
      terminal: false,
      deadline: 'After the release deadline the node is quarantined and the operator alerted.',
    },
    Terminated: { meaning: 'Deleted; its hardware was released.', terminal: true, deadline: null },
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
      trigger: 'readiness check: an SSH handshake completed and the right hardware was found',
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
      trigger: 'engine unreachable for more than 90 s',
      billing: unreachableBilling,
    },
    {
      from: 'Running',
      to: 'Pending',
      trigger: 'start after a stop that released the GPUs: new placement, new readiness check',
      billing: 'GPU meter stays closed until the readiness check',
    },
    { from: 'Unknown', to: 'Running', trigger: 'engine reachable again', billing: 'resumes' },
    {
      from: 'Unknown',
      to: 'Failed',
      trigger: 'host fault confirmed',
      billing: 'stopped at the last healthy time',
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
    { from: 'Failed', to: 'Terminated', trigger: 'clean-up complete', billing: 'none' },
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
