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
        'Being provisioned, frozen for want of balance, being restored, or kept for its retention window.',
      terminal: false,
      deadline:
        'The provisioning deadline, that of the restore, or the end of the retention window, when it is purged.',
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
    {
      from: 'inactive',
      to: 'active',
      trigger: 'provisioned and usable, thawed, or a restore into it has ended',
      billing: 'starts, unless it was billed all along',
    },
    { from: 'active', to: 'unknown', trigger: 'backend silent', billing: 'continues' },
    { from: 'unknown', to: 'active', trigger: 'backend back', billing: 'continues' },
    {
      from: 'active',
      to: 'inactive',
      trigger:
        'delete requested or balance freeze; kept for the retention window; or a restore into it begins',
      billing: 'until purge',
    },
    { from: 'inactive', to: null, trigger: 'purged at the end of its retention window', billing: 'ends' },
  ],
  actions: {
    attach: needsActive,
    detach: { inactive: 'allowed', active: 'allowed', unknown: 'allowed' },
    update: needsActive,
    snapshot: needsActive,
    // Snapshots of a frozen or deleted volume are kept with it, and can be restored into a new one.
    'restore-from': { inactive: 'allowed', active: 'allowed', unknown: 'ACTION_IN_PROGRESS' },
    'restore-into': needsActive,
    // Inactive is also what a volume is while it is provisioned or frozen, and those may be deleted like any other.
    delete: { inactive: 'allowed', active: 'allowed', unknown: 'ACTION_IN_PROGRESS' },
  },
});
