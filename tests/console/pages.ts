import type { Page } from 'playwright-core';
import type { Seeded } from './seed.ts';

/**
 * Every page of the console: axe reads them, and `npm run console:shots` takes their pictures. `pages.test.ts` compares this list with
 * the routes, so a new page is a line here.
 */
export interface ConsolePage {
  /** As in `routes.tsx`, from the root. */
  readonly route: string;
  /** Its address; the route itself unless said. */
  readonly at?: (seeded: Seeded) => string;
  /** Who looks at it; the owner unless said. */
  readonly who?: 'anyone' | 'newcomer' | 'owner';
  /** Test mode is where machines are; live mode where money is. */
  readonly mode?: 'live' | 'test';
  /** Brings it into the state that is worth a look, such as an open dialog. */
  readonly prepare?: (page: Page) => Promise<void>;
  /** For the name of the picture, where one route is looked at twice. */
  readonly as?: string;
}

/** Opens the dialog behind a button. */
const press =
  (name: string) =>
  async (page: Page): Promise<void> => {
    await page.getByRole('button', { name }).first().click();
    await page.getByRole('dialog').waitFor();
  };

const rental =
  (name: keyof Seeded['rentals']) =>
  ({ rentals }: Seeded): string =>
    `/rentals/${String(rentals[name])}`;

export const pages: readonly ConsolePage[] = [
  { route: '/sign-in', who: 'anyone' },
  { route: '/sign-up', who: 'anyone' },
  { route: '/verified', who: 'anyone' },
  { route: '/forgot-password', who: 'anyone' },
  { route: '/reset-password', who: 'anyone', at: () => '/reset-password?token=used-up' },
  { route: '/welcome', who: 'newcomer' },
  { route: '/invitations', who: 'newcomer' },
  { route: '/device', at: () => '/device?user_code=ABCD-EFGH' },
  { route: '/', who: 'anyone', as: 'catalog-signed-out' },
  { route: '/', mode: 'test', as: 'catalog' },
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
  { route: '/volumes', mode: 'test' },
  { route: '/marketplace', mode: 'test' },
  { route: '/usage', mode: 'test' },
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
  { route: '/supplier' },
  { route: '/operator' },
  { route: '/operator/nodes/$nodeId', at: ({ nodeId }) => `/operator/nodes/${nodeId}`, as: 'operator-node' },
  { route: '/operator/maintenance' },
  { route: '/operator/rentals' },
  { route: '/operator/providers' },
  { route: '/operator/prices' },
  { route: '/operator/organisations' },
  {
    route: '/operator/organisations/$organisationId',
    at: ({ organisationId }) => `/operator/organisations/${organisationId}`,
    as: 'operator-organisation',
  },
  { route: '/operator/suppliers' },
  { route: '/operator/models' },
  { route: '/operator/auditor' },
  {
    route: '/operator/auditor/$reportId',
    at: ({ reportId }) => `/operator/auditor/${reportId}`,
    as: 'operator-report',
  },
];
