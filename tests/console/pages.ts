import type { ConsolePage } from './console-page.ts';
import { dialogs } from './dialogs.ts';
import type { Seeded } from './seed.ts';

const rental =
  (name: keyof Seeded['rentals']) =>
  ({ rentals }: Seeded): string =>
    `/rentals/${String(rentals[name])}`;

const tab =
  (name: keyof Seeded['rentals'], open: string) =>
  (seeded: Seeded): string =>
    `${rental(name)(seeded)}?tab=${open}`;

/** All pages and dialogs, for axe and `npm run console:shots`. `pages.test.ts` compares this list with the routes. */
export const pages: readonly ConsolePage[] = [
  { route: '/sign-in', who: 'anyone' },
  { route: '/sign-up', who: 'anyone' },
  { route: '/verified', who: 'anyone' },
  { route: '/forgot-password', who: 'anyone' },
  { route: '/reset-password', who: 'anyone', at: () => '/reset-password?token=used-up' },
  { route: '/welcome', who: 'newcomer' },
  { route: '/invitations', who: 'newcomer' },
  { route: '/device' },
  { route: '/', who: 'anyone', as: 'catalog-signed-out' },
  { route: '/overview', mode: 'test' },
  { route: '/overview', as: 'overview-live' },
  { route: '/catalog', mode: 'test' },
  { route: '/rent', mode: 'test' },
  { route: '/models', who: 'anyone', as: 'models-signed-out' },
  { route: '/models', mode: 'test', as: 'models' },
  { route: '/playground', mode: 'test' },
  { route: '/rentals', mode: 'test' },
  { route: '/rentals/$rentalId', mode: 'test', at: rental('train'), as: 'rental-running' },
  { route: '/rentals/$rentalId', mode: 'test', at: rental('paused'), as: 'rental-stopped' },
  { route: '/rentals/$rentalId', mode: 'test', at: rental('broken'), as: 'rental-failed' },
  { route: '/rentals/$rentalId', mode: 'test', at: rental('warming'), as: 'rental-pending' },
  { route: '/rentals/$rentalId', mode: 'test', at: rental('old'), as: 'rental-ended' },
  { route: '/rentals', mode: 'test', at: () => '/rentals?view=history', as: 'rentals-history' },
  { route: '/rentals/$rentalId', mode: 'test', at: tab('train', 'cost'), as: 'rental-cost' },
  { route: '/rentals/$rentalId', mode: 'test', at: tab('train', 'metrics'), as: 'rental-metrics' },
  { route: '/rentals/$rentalId', mode: 'test', at: tab('train', 'console'), as: 'rental-console' },
  { route: '/rentals/$rentalId', mode: 'test', at: tab('train', 'events'), as: 'rental-events' },
  { route: '/rentals/$rentalId', mode: 'test', at: tab('train', 'settings'), as: 'rental-settings' },
  { route: '/volumes', mode: 'test' },
  {
    route: '/volumes/$volumeId',
    mode: 'test',
    at: ({ volumeId }) => `/volumes/${String(volumeId)}`,
    as: 'volume',
  },
  { route: '/marketplace', mode: 'test' },
  {
    route: '/marketplace/$nodeName',
    mode: 'test',
    at: ({ nodeName }) => `/marketplace/${nodeName}`,
    as: 'marketplace-machine',
  },
  { route: '/instances', mode: 'test' },
  {
    route: '/instances/$name',
    mode: 'test',
    at: ({ instanceName }) => `/instances/${instanceName}`,
    as: 'instance',
  },
  { route: '/usage', mode: 'test' },
  { route: '/usage', at: () => '/usage', as: 'usage-live' },
  {
    route: '/usage',
    mode: 'test',
    at: ({ requestId }) => `/usage?request=${requestId}`,
    as: 'usage-request',
  },
  { route: '/money' },
  { route: '/ledger' },
  { route: '/budgets' },
  { route: '/invoices' },
  { route: '/invoices/$invoiceId', at: ({ invoiceId }) => `/invoices/${invoiceId}`, as: 'invoice' },
  { route: '/keys' },
  { route: '/ssh-keys' },
  { route: '/webhooks' },
  { route: '/webhooks/$webhookId', at: ({ webhookId }) => `/webhooks/${webhookId}`, as: 'webhook' },
  { route: '/team' },
  { route: '/audit' },
  { route: '/account' },
  { route: '/supplier', as: 'supplier-overview' },
  { route: '/supplier/machines' },
  { route: '/supplier/machines', at: () => '/supplier/machines?tab=join', as: 'supplier-join' },
  {
    route: '/supplier/machines/$machineId',
    at: ({ machineId }) => `/supplier/machines/${machineId}`,
    as: 'supplier-machine',
  },
  { route: '/supplier/earnings' },
  { route: '/supplier/earnings', at: () => '/supplier/earnings?tab=payouts', as: 'supplier-payouts' },
  {
    route: '/supplier/statements/$statementId',
    at: ({ statementId }) => `/supplier/statements/${statementId}`,
    as: 'supplier-statement',
  },
  { route: '/operator', as: 'operator-overview' },
  { route: '/operator/nodes/$nodeId', at: ({ nodeId }) => `/operator/nodes/${nodeId}`, as: 'operator-node' },
  { route: '/operator/fleet' },
  { route: '/operator/fleet', at: () => '/operator/fleet?view=table', as: 'operator-table' },
  { route: '/operator/maintenance' },
  { route: '/operator/rentals' },
  { route: '/operator/rentals', at: () => '/operator/rentals?tab=volumes', as: 'operator-lost-volumes' },
  { route: '/operator/providers' },
  { route: '/operator/prices' },
  { route: '/operator/organisations' },
  {
    route: '/operator/organisations/$organisationId',
    at: ({ organisationId }) => `/operator/organisations/${organisationId}`,
    as: 'operator-organisation',
  },
  {
    route: '/operator/organisations/$organisationId',
    at: ({ organisationId }) => `/operator/organisations/${organisationId}?tab=members`,
    as: 'operator-members',
  },
  { route: '/operator/suppliers' },
  { route: '/operator/suppliers', at: () => '/operator/suppliers?tab=machines', as: 'operator-machines' },
  { route: '/operator/models' },
  { route: '/operator/auditor' },
  {
    route: '/operator/auditor/$reportId',
    at: ({ reportId }) => `/operator/auditor/${reportId}`,
    as: 'operator-report',
  },
  ...dialogs,
];
