import type { Page } from 'playwright-core';
import type { Seeded } from './seed.ts';

/** All pages, for axe and `npm run console:shots`. `pages.test.ts` compares this list with the routes. */
export interface ConsolePage {
  /** Path in `routes.tsx`, from the root. */
  readonly route: string;
  /** Path with parameters; default: `route`. */
  readonly at?: (seeded: Seeded) => string;
  readonly who?: 'anyone' | 'newcomer' | 'owner';
  /** Rentals are in test mode, money in live mode. */
  readonly mode?: 'live' | 'test';
  /** Opens a dialog, for example. */
  readonly prepare?: (page: Page) => Promise<void>;
  /** Name of the screenshot, if a route is used twice. */
  readonly as?: string;
}

const pressButton =
  (name: string) =>
  async (page: Page): Promise<void> => {
    await page.getByRole('button', { name }).first().click();
    await page.getByRole('dialog').waitFor();
  };

const pressKey =
  (key: string) =>
  async (page: Page): Promise<void> => {
    await page.keyboard.press(key);
    await page.getByRole('dialog').waitFor();
  };

const openPalette =
  (text: string) =>
  async (page: Page): Promise<void> => {
    await pressKey('Control+k')(page);
    await page.getByRole('combobox', { name: 'Search pages, actions and resources' }).fill(text);
    await page.getByText('Searching…').waitFor({ state: 'detached' });
  };

const rental =
  (name: keyof Seeded['rentals']) =>
  ({ rentals }: Seeded): string =>
    `/rentals/${String(rentals[name])}`;

const tab =
  (name: keyof Seeded['rentals'], open: string) =>
  (seeded: Seeded): string =>
    `${rental(name)(seeded)}?tab=${open}`;

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
  { route: '/overview', prepare: openPalette('de'), as: 'palette' },
  { route: '/overview', prepare: pressKey('?'), as: 'shortcuts' },
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
  {
    route: '/rentals/$rentalId',
    mode: 'test',
    at: rental('train'),
    prepare: pressButton('Stop'),
    as: 'rental-stop',
  },
  { route: '/volumes', mode: 'test' },
  { route: '/volumes', mode: 'test', prepare: pressButton('Create volume'), as: 'volume-create' },
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
  { route: '/budgets', prepare: pressButton('Create budget'), as: 'budget-create' },
  { route: '/invoices' },
  { route: '/invoices/$invoiceId', at: ({ invoiceId }) => `/invoices/${invoiceId}`, as: 'invoice' },
  { route: '/keys' },
  { route: '/keys', prepare: pressButton('Create API key'), as: 'key-create' },
  { route: '/ssh-keys' },
  { route: '/webhooks' },
  { route: '/webhooks', prepare: pressButton('Create webhook'), as: 'webhook-create' },
  { route: '/webhooks/$webhookId', at: ({ webhookId }) => `/webhooks/${webhookId}`, as: 'webhook' },
  { route: '/team' },
  { route: '/audit' },
  { route: '/account' },
  { route: '/supplier', as: 'supplier-overview' },
  { route: '/supplier/machines' },
  { route: '/supplier/machines', at: () => '/supplier/machines?tab=join', as: 'supplier-join' },
  {
    route: '/supplier/machines',
    at: () => '/supplier/machines?tab=join',
    prepare: pressButton('Add host'),
    as: 'supplier-token',
  },
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
  {
    route: '/operator/nodes/$nodeId',
    at: ({ nodeId }) => `/operator/nodes/${nodeId}`,
    prepare: pressButton('Drain'),
    as: 'operator-drain',
  },
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
    at: ({ organisationId }) => `/operator/organisations/${organisationId}`,
    prepare: pressButton('Adjust balance'),
    as: 'operator-correct',
  },
  {
    route: '/operator/organisations/$organisationId',
    at: ({ organisationId }) => `/operator/organisations/${organisationId}?tab=members`,
    as: 'operator-members',
  },
  { route: '/operator/prices', prepare: pressButton('Set price'), as: 'operator-set-price' },
  { route: '/operator/suppliers' },
  { route: '/operator/suppliers', at: () => '/operator/suppliers?tab=machines', as: 'operator-machines' },
  { route: '/operator/models' },
  { route: '/operator/auditor' },
  {
    route: '/operator/auditor/$reportId',
    at: ({ reportId }) => `/operator/auditor/${reportId}`,
    as: 'operator-report',
  },
];
