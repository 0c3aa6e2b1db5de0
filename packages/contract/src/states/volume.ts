import { defineStates } from './table.ts';

export type VolumeState = 'inactive' | 'active' | 'unknown';
export type VolumeAction =
  | 'attach'
  | 'detach'
  | 'update'
  | 'snapshot'
  | 'restore-from'
  | 'restore-into'
  | 'delete';

const needsActive = {
  inactive: 'VOLUME_NOT_ACTIVE',
  active: 'allowed',
  unknown: 'ACTION_IN_PROGRESS',
} as const;

export const volumeStates = defineStates<VolumeState, VolumeAction>({
  object: 'Volume',
  states: {
    inactive: {
      meaning:
        'Being provisioned, frozen because the balance ran out, being restored, or kept for its retention period.',
      terminal: false,
      deadline:
        'The deadline of provisioning or restore, or the end of the retention period, when it is deleted.',
    },
    active: {
      meaning: 'Usable.',
      terminal: false,
      deadline: 'The end of the balance; it becomes unknown if its storage backend is unreachable.',
    },
    unknown: {
      meaning: 'The storage backend is unreachable.',
      terminal: false,
      deadline: 'The backend is polled until it responds; the operator is alerted.',
    },
  },
  transitions: [
    { from: null, to: 'inactive', trigger: 'accepted', billing: 'none' },
    {
      from: 'inactive',
      to: 'active',
      trigger: 'provisioned and usable, unfrozen, or a restore into it has ended',
      billing: 'starts, unless it was already billed',
    },
    { from: 'active', to: 'unknown', trigger: 'backend unreachable', billing: 'continues' },
    { from: 'unknown', to: 'active', trigger: 'backend reachable again', billing: 'continues' },
    {
      from: 'active',
      to: 'inactive',
      trigger:
        'delete requested or balance frozen; kept for the retention period; or a restore into it starts',
      billing: 'until purge',
    },
    { from: 'inactive', to: null, trigger: 'deleted at the end of its retention period', billing: 'ends' },
  ],
  actions: {
    attach: needsActive,
    detach: { inactive: 'allowed', active: 'allowed', unknown: 'allowed' },
    update: needsActive,
    snapshot: needsActive,
    // Snapshots of a frozen or deleted volume are kept with it and can be restored into a new volume.
    'restore-from': { inactive: 'allowed', active: 'allowed', unknown: 'ACTION_IN_PROGRESS' },
    'restore-into': needsActive,
    // Volumes that are being provisioned or are frozen are also inactive, and can be deleted.
    delete: { inactive: 'allowed', active: 'allowed', unknown: 'ACTION_IN_PROGRESS' },
  },
});
