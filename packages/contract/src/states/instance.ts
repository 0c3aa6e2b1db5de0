import { defineStates, unreachableBilling, terminateBilling, terminateTrigger } from './table.ts';

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
      meaning: 'The engine has created it; the readiness check has not passed yet.',
      terminal: false,
      deadline: 'The provisioning deadline, then failed.',
    },
    online: {
      meaning: 'Passed its readiness check.',
      terminal: false,
      deadline: 'Runs until its TTL or the balance ends. Offline if its host is unreachable.',
    },
    offline: {
      meaning: 'The engine has been unreachable for more than 90 s.',
      terminal: false,
      deadline: 'After 5 min billing pauses; the fault deadline terminates it.',
    },
    failed: {
      meaning: 'It could not be created, or its host was lost.',
      terminal: false,
      deadline: 'Clean-up is retried until it is complete.',
    },
    stopping: {
      meaning: 'Network access is removed; it is being released.',
      terminal: false,
      deadline: 'After the release deadline the machine is quarantined and the operator alerted.',
    },
    terminated: { meaning: 'Deleted; its hardware was released.', terminal: true, deadline: null },
  },
  transitions: [
    {
      from: null,
      to: 'creating',
      trigger: 'accepted: capacity and hold in one transaction',
      billing: 'none',
    },
    { from: 'creating', to: 'starting', trigger: 'engine accepted it', billing: 'none' },
    { from: 'starting', to: 'online', trigger: 'readiness check passed', billing: 'starts' },
    {
      from: 'online',
      to: 'offline',
      trigger: 'engine unreachable for more than 90 s',
      billing: unreachableBilling,
    },
    { from: 'offline', to: 'online', trigger: 'engine reachable again', billing: 'resumes' },
    { from: 'creating', to: 'failed', trigger: 'driver error or deadline', billing: 'hold released, cost 0' },
    { from: 'starting', to: 'failed', trigger: 'driver error or deadline', billing: 'hold released, cost 0' },
    {
      from: 'offline',
      to: 'failed',
      trigger: 'host fault confirmed',
      billing: 'stopped at the last healthy time',
    },
    { from: 'creating', to: 'stopping', ...instanceStop },
    { from: 'starting', to: 'stopping', ...instanceStop },
    { from: 'online', to: 'stopping', ...instanceStop },
    { from: 'offline', to: 'stopping', ...instanceStop },
    { from: 'failed', to: 'stopping', trigger: 'clean-up', billing: 'none' },
    { from: 'failed', to: 'terminated', trigger: 'clean-up complete', billing: 'none' },
    { from: 'stopping', to: 'terminated', trigger: 'driver confirmed release and wipe', billing: 'none' },
  ],
  actions: {
    terminate: {
      creating: 'allowed',
      starting: 'allowed',
      online: 'allowed',
      offline: 'allowed',
      failed: 'repeat',
      stopping: 'repeat',
      terminated: 'repeat',
    },
  },
});
