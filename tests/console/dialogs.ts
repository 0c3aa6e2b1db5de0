import type { ConsoleDialog, ConsolePage } from './console-page.ts';
import {
  createKey,
  inTable,
  openAccountMenu,
  openPalette,
  press,
  pressKey,
  rotateSecret,
} from './dialog-steps.ts';
import { operatorDialogs } from './operator-dialogs.ts';

type Address = Pick<ConsolePage, 'route' | 'at' | 'mode'>;

const rental: Address = {
  route: '/rentals/$rentalId',
  mode: 'test',
  at: ({ rentals }) => `/rentals/${String(rentals.train)}`,
};
const volume: Address = {
  route: '/volumes/$volumeId',
  mode: 'test',
  at: ({ volumeId }) => `/volumes/${String(volumeId)}`,
};
const attachedVolume: Address = {
  ...volume,
  at: ({ attachedVolumeId }) => `/volumes/${String(attachedVolumeId)}`,
};
const webhook: Address = { route: '/webhooks/$webhookId', at: ({ webhookId }) => `/webhooks/${webhookId}` };
const machine: Address = {
  route: '/supplier/machines/$machineId',
  at: ({ machineId }) => `/supplier/machines/${machineId}`,
};
const hosts: Address = { route: '/supplier/machines', at: () => '/supplier/machines?tab=join' };

const shell: readonly ConsoleDialog[] = [
  {
    route: '/overview',
    as: 'palette',
    source: 'app/palette/command-palette',
    prepare: openPalette('de'),
  },
  { route: '/overview', as: 'shortcuts', source: 'app/shortcuts/shortcut-list', prepare: pressKey('?') },
  {
    route: '/overview',
    as: 'account-menu',
    source: 'app/person-menu',
    prepare: openAccountMenu,
    opensPerWidth: true,
  },
];

const machines: readonly ConsoleDialog[] = [
  {
    route: '/catalog',
    mode: 'test',
    at: () => '/catalog?gpu=b200&count=8',
    as: 'sold-out',
    source: 'features/catalog/sold-out-dialog',
    prepare: press(/Sold out: see options/, /is sold out in/),
  },
  {
    ...rental,
    as: 'rental-stop',
    source: 'features/rentals/dialogs/power-dialogs',
    prepare: press('Stop', 'Stop train?'),
  },
  {
    ...rental,
    as: 'rental-reboot',
    source: 'features/rentals/dialogs/power-dialogs',
    prepare: press('Reboot', 'Reboot train?'),
  },
  {
    ...rental,
    as: 'rental-extend',
    source: 'features/rentals/dialogs/extend-dialog',
    prepare: press('Extend', 'Extend train'),
  },
  {
    ...rental,
    as: 'rental-terminate',
    source: 'features/rentals/dialogs/terminate-dialog',
    prepare: press('Terminate', 'Terminate train?'),
  },
  {
    route: '/instances/$name',
    mode: 'test',
    at: ({ instanceName }) => `/instances/${instanceName}`,
    as: 'instance-terminate',
    source: 'features/marketplace/instance-page',
    prepare: press('Terminate', /^Terminate /),
  },
  {
    route: '/playground',
    mode: 'test',
    as: 'playground-code',
    source: 'features/playground/panel-layout',
    prepare: press('View code', 'Use in your code'),
  },
];

const storage: readonly ConsoleDialog[] = [
  {
    route: '/volumes',
    mode: 'test',
    as: 'volume-create',
    source: 'features/volumes/create-volume',
    prepare: press('Create volume', 'Create volume'),
  },
  {
    ...volume,
    as: 'volume-edit',
    source: 'features/volumes/update-volume',
    prepare: press('Edit', 'Edit datasets'),
  },
  {
    ...volume,
    as: 'volume-delete',
    source: 'features/volumes/delete-volume',
    prepare: press('Delete', 'Delete datasets?'),
  },
  {
    ...attachedVolume,
    as: 'volume-detach',
    source: 'features/volumes/attach-card',
    prepare: press('Detach', /^Detach checkpoints/),
  },
  {
    ...volume,
    as: 'snapshot-restore',
    source: 'features/volumes/restore-snapshot',
    prepare: press('Restore', 'Restore monday'),
  },
  {
    ...volume,
    as: 'snapshot-delete',
    source: 'features/volumes/snapshots-card',
    prepare: press('Delete', 'Delete snapshot monday?', inTable(/^Snapshots/)),
  },
];

const account: readonly ConsoleDialog[] = [
  {
    route: '/budgets',
    as: 'budget-create',
    source: 'features/money/budget-form',
    prepare: press('Create budget', 'Create budget'),
  },
  {
    route: '/budgets',
    as: 'budget-edit',
    source: 'features/money/budget-form',
    prepare: press(/^Edit /, /^Edit /),
  },
  {
    route: '/budgets',
    as: 'budget-delete',
    source: 'features/money/budgets-page',
    prepare: press(/^Delete /, /^Delete budget/),
  },
  {
    route: '/keys',
    as: 'key-create',
    source: 'features/keys/create-key',
    prepare: press('Create API key', 'New API key'),
  },
  {
    route: '/keys',
    as: 'key-rotate',
    source: 'features/keys/key-actions',
    prepare: press(/^Rotate /, /^Rotate /),
  },
  {
    route: '/keys',
    as: 'key-revoke',
    source: 'features/keys/key-actions',
    prepare: press(/^Revoke /, /^Revoke /),
  },
  { route: '/keys', as: 'key-created', source: 'features/keys/keys-page', prepare: createKey },
  {
    route: '/ssh-keys',
    mode: 'test',
    as: 'ssh-key-delete',
    source: 'features/keys/ssh-keys-page',
    prepare: press(/^Delete /, /^Delete /),
  },
  {
    route: '/webhooks',
    as: 'webhook-create',
    source: 'features/webhooks/webhook-form',
    prepare: press('Create webhook', 'Create webhook'),
  },
  {
    ...webhook,
    as: 'webhook-edit',
    source: 'features/webhooks/webhook-form',
    prepare: press('Edit', 'Edit webhook'),
  },
  {
    ...webhook,
    as: 'webhook-rotate',
    source: 'features/webhooks/webhook-actions',
    prepare: press('Rotate secret', 'Rotate signing secret'),
  },
  { ...webhook, as: 'webhook-secret', source: 'features/webhooks/signing-secret', prepare: rotateSecret },
  {
    ...webhook,
    as: 'webhook-disable',
    source: 'features/webhooks/webhook-actions',
    prepare: press('Disable', 'Disable this webhook?'),
  },
  {
    ...webhook,
    as: 'webhook-delete',
    source: 'features/webhooks/webhook-actions',
    prepare: press('Delete', 'Delete this webhook?'),
  },
  {
    ...webhook,
    as: 'webhook-delivery',
    source: 'features/webhooks/deliveries',
    prepare: press(/^View delivery/, /^[a-z_-]+\./),
  },
  {
    route: '/team',
    as: 'member-invite',
    source: 'features/team/team-page',
    prepare: press('Invite member', 'Invite member'),
  },
  {
    route: '/team',
    as: 'member-remove',
    source: 'features/team/team-page',
    prepare: press('Remove', /^Remove /),
  },
];

const supplier: readonly ConsoleDialog[] = [
  {
    ...hosts,
    as: 'supplier-token',
    source: 'features/supplier/join-tokens',
    prepare: press('Add host', 'Add host'),
  },
  {
    ...hosts,
    as: 'supplier-token-revoke',
    source: 'features/supplier/join-tokens',
    prepare: press('Revoke', /^Revoke join token/),
  },
  {
    ...machine,
    as: 'supplier-drain',
    source: 'features/supplier/machine-actions',
    prepare: press('Drain', /^Drain /),
  },
  {
    ...machine,
    as: 'supplier-withdraw',
    source: 'features/supplier/machine-actions',
    prepare: press('Withdraw', /^Withdraw /),
  },
  {
    route: '/supplier/earnings',
    as: 'supplier-payout',
    source: 'features/supplier/payouts',
    prepare: press('Request payout', 'Request payout'),
  },
];

/** All dialogs and menus. `pages.test.ts` compares this list with the console's sources. */
export const dialogs: readonly ConsoleDialog[] = [
  ...shell,
  ...machines,
  ...storage,
  ...account,
  ...supplier,
  ...operatorDialogs,
];
