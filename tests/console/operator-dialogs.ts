import type { ConsoleDialog, ConsolePage } from './console-page.ts';
import { announceMaintenance, inTable, press, writeOffVolume } from './dialog-steps.ts';
import type { Seeded } from './seed.ts';

type Address = Pick<ConsolePage, 'route' | 'at'>;

const organisationAt = (id: (seeded: Seeded) => string, search = ''): Address => ({
  route: '/operator/organisations/$organisationId',
  at: (seeded) => `/operator/organisations/${id(seeded)}${search}`,
});
const organisation = organisationAt(({ organisationId }) => organisationId);
const members = organisationAt(({ organisationId }) => organisationId, '?tab=members');
const discounts = organisationAt(({ organisationId }) => organisationId, '?tab=discounts');
const tenant = organisationAt(({ tenantId }) => tenantId);
const suspended = organisationAt(({ suspendedId }) => suspendedId);

const nodeAt = (id: (seeded: Seeded) => string): Address => ({
  route: '/operator/nodes/$nodeId',
  at: (seeded) => `/operator/nodes/${id(seeded)}`,
});
const node = nodeAt(({ nodeId }) => nodeId);
const quarantined = nodeAt(({ quarantinedNodeId }) => quarantinedNodeId);

const withSearch = (route: string, search: string): Address => ({ route, at: () => `${route}?${search}` });
const rentals = withSearch('/operator/rentals', 'mode=test');
const endingRentals = withSearch('/operator/rentals', 'status=Terminating');
const lostVolumes = withSearch('/operator/rentals', 'tab=volumes');
const terms = withSearch('/operator/prices', 'tab=reserve');
const model = withSearch('/operator/models', 'model=quiet-chat');
const supplierMachines = withSearch('/operator/suppliers', 'tab=machines');
const payouts = withSearch('/operator/suppliers', 'tab=payouts');

export const operatorDialogs: readonly ConsoleDialog[] = [
  {
    ...node,
    as: 'operator-drain',
    source: 'features/operator/fleet/node-page',
    prepare: press('Drain', /^Drain /),
  },
  {
    ...node,
    as: 'operator-quarantine',
    source: 'features/operator/fleet/node-page',
    prepare: press('Quarantine', /^Quarantine /),
  },
  {
    ...quarantined,
    as: 'operator-resume',
    source: 'features/operator/fleet/node-page',
    prepare: press('Return to service', /^Return .* to service/),
  },
  {
    ...quarantined,
    as: 'operator-remove-node',
    source: 'features/operator/fleet/node-page',
    prepare: press('Remove', /^Remove .* from the fleet/),
  },
  {
    ...quarantined,
    as: 'operator-write-off-node',
    source: 'features/operator/fleet/node-page',
    prepare: press('Write off', /^Write off /),
  },
  {
    ...node,
    as: 'operator-faulty-gpu',
    source: 'features/operator/fleet/node-gpus',
    prepare: press('Mark faulty', /^Mark faulty: GPU/),
  },
  {
    route: '/operator/maintenance',
    as: 'operator-announce',
    source: 'features/operator/maintenance/maintenance-windows',
    prepare: announceMaintenance,
  },
  {
    route: '/operator/maintenance',
    as: 'operator-cancel-maintenance',
    source: 'features/operator/maintenance/maintenance-windows',
    prepare: press('Cancel', 'Cancel: Fan replacement'),
  },
  {
    ...rentals,
    as: 'operator-terminate-rental',
    source: 'features/operator/rentals/rental-table',
    prepare: press('Terminate', /^Terminate /),
  },
  {
    ...endingRentals,
    as: 'operator-write-off-rental',
    source: 'features/operator/rentals/rental-table',
    prepare: press('Write off', /^Write off /),
  },
  {
    ...lostVolumes,
    as: 'operator-write-off-volume',
    source: 'features/operator/rentals/lost-volumes',
    prepare: writeOffVolume,
  },
  {
    route: '/operator/providers',
    as: 'operator-cluster',
    source: 'features/operator/providers/add-cluster',
    prepare: press('Register cluster', 'Register cluster'),
  },
  {
    route: '/operator/providers',
    as: 'operator-provider-disable',
    source: 'features/operator/providers/providers-page',
    prepare: press('Disable', /^Disable provider /),
  },
  {
    route: '/operator/providers',
    as: 'operator-region-disable',
    source: 'features/operator/providers/providers-page',
    prepare: press('Disable', /^Disable .* of /, inTable(/^Regions of/)),
  },
  {
    route: '/operator/providers',
    as: 'operator-remove-cluster',
    source: 'features/operator/providers/providers-page',
    prepare: press('Remove', /^Remove cluster /),
  },
  {
    route: '/operator/prices',
    as: 'operator-set-price',
    source: 'features/operator/prices/add-price',
    prepare: press('Set price', 'Set price'),
  },
  {
    route: '/operator/prices',
    as: 'operator-end-price',
    source: 'features/operator/prices/price-tables',
    prepare: press('End price', /^End price of /),
  },
  {
    ...terms,
    as: 'operator-add-term',
    source: 'features/operator/prices/reserve-options',
    prepare: press('Add term', 'Add a reserved term'),
  },
  {
    route: '/operator/organisations',
    as: 'operator-create-organisation',
    source: 'features/operator/organisations/organisations-page',
    prepare: press('Create organisation', 'Create organisation'),
  },
  {
    ...organisation,
    as: 'operator-grant',
    source: 'features/operator/organisations/balance-actions',
    prepare: press('Grant credit', /^Grant credit to /),
  },
  {
    ...organisation,
    as: 'operator-adjust',
    source: 'features/operator/organisations/balance-actions',
    prepare: press('Adjust balance', /^Adjust the balance of /),
  },
  {
    ...organisation,
    as: 'operator-overdraft',
    source: 'features/operator/organisations/balance-actions',
    prepare: press('Set overdraft', /^Set overdraft of /),
  },
  {
    ...organisation,
    as: 'operator-refund',
    source: 'features/operator/organisations/balance-actions',
    prepare: press('Refund', /^Refund /),
  },
  {
    ...organisation,
    as: 'operator-reverse',
    source: 'features/operator/organisations/balance-actions',
    prepare: press('Reverse', /^Reverse: /),
  },
  {
    ...tenant,
    as: 'operator-unfreeze',
    source: 'features/operator/organisations/balance-actions',
    prepare: press('Unfreeze', /^Unfreeze /),
  },
  {
    ...tenant,
    as: 'operator-suspend',
    source: 'features/operator/organisations/organisation-page',
    prepare: press('Suspend', /^Suspend /),
  },
  {
    ...suspended,
    as: 'operator-lift-suspension',
    source: 'features/operator/organisations/organisation-page',
    prepare: press('Lift suspension', /^Lift the suspension of /),
  },
  {
    ...members,
    as: 'operator-add-member',
    source: 'features/operator/organisations/organisation-page',
    prepare: press('Add member', /^Add a member to /),
  },
  {
    ...discounts,
    as: 'operator-discount',
    source: 'features/operator/organisations/discounts',
    prepare: press('Add discount', /^Add a discount for /),
  },
  {
    ...discounts,
    as: 'operator-revoke-discount',
    source: 'features/operator/organisations/discounts',
    prepare: press('Revoke', 'Revoke discount'),
  },
  {
    route: '/operator/models',
    as: 'operator-add-model',
    source: 'features/operator/models/model-forms',
    prepare: press('Add model', 'Add a model'),
  },
  {
    ...model,
    as: 'operator-edit-model',
    source: 'features/operator/models/model-forms',
    prepare: press('Edit', 'Edit quiet-chat'),
  },
  {
    route: '/operator/models',
    as: 'operator-retire-model',
    source: 'features/operator/models/model-forms',
    prepare: press('Retire', /^Retire: /),
  },
  {
    route: '/operator/models',
    as: 'operator-engine',
    source: 'features/operator/models/deployments',
    prepare: press('Register engine', 'Register an engine'),
  },
  {
    route: '/operator/models',
    as: 'operator-edit-engine',
    source: 'features/operator/models/deployments',
    prepare: press('Edit', /^Edit deployment of /, inTable(/^Engines/)),
  },
  {
    route: '/operator/models',
    as: 'operator-delete-engine',
    source: 'features/operator/models/deployments',
    prepare: press('Delete', /^Delete deployment of /, inTable(/^Engines/)),
  },
  {
    route: '/operator/suppliers',
    as: 'operator-supplier-approve',
    source: 'features/operator/suppliers/suppliers-page',
    prepare: press('Approve', /^Approve: /),
  },
  {
    route: '/operator/suppliers',
    as: 'operator-supplier-fee',
    source: 'features/operator/suppliers/suppliers-page',
    prepare: press('Change fee', /^Change fee: /),
  },
  {
    route: '/operator/suppliers',
    as: 'operator-supplier-suspend',
    source: 'features/operator/suppliers/suppliers-page',
    prepare: press('Suspend', /^Suspend: /),
  },
  {
    ...supplierMachines,
    as: 'operator-machine-approve',
    source: 'features/operator/suppliers/supplier-machines',
    prepare: press('Approve', /^Approve .* for the marketplace/),
  },
  {
    ...supplierMachines,
    as: 'operator-machine-reject',
    source: 'features/operator/suppliers/supplier-machines',
    prepare: press('Reject', /^Reject /),
  },
  {
    ...payouts,
    as: 'operator-payout-paid',
    source: 'features/operator/suppliers/supplier-payouts',
    prepare: press('Mark as paid', /^Mark .* as paid/),
  },
  {
    ...payouts,
    as: 'operator-payout-reject',
    source: 'features/operator/suppliers/supplier-payouts',
    prepare: press('Reject', /^Reject the payout /),
  },
];
