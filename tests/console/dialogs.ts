import type { Page } from 'playwright-core';
import type { ConsolePage } from './console-page.ts';
import type { Seeded } from './seed.ts';

/** Dialogs and menus, each with the page that it opens on. */

const openDialog = (page: Page) => page.locator('[role=dialog], [role=alertdialog]');

const press =
  (name: string | RegExp) =>
  async (page: Page): Promise<void> => {
    // Exact, because "Edit" is also a part of "Edit Research".
    const exact = typeof name === 'string';
    await page
      .getByRole('button', { name, exact })
      .and(page.locator(':not([aria-disabled=true])'))
      .first()
      .click();
    await openDialog(page).waitFor();
  };

const pressKey =
  (key: string) =>
  async (page: Page): Promise<void> => {
    await page.keyboard.press(key);
    await openDialog(page).waitFor();
  };

const openPalette =
  (text: string) =>
  async (page: Page): Promise<void> => {
    await pressKey('Control+k')(page);
    await page.getByRole('combobox', { name: 'Search pages, actions and resources' }).fill(text);
    await page.getByText('Searching…').waitFor({ state: 'detached' });
  };

const openMenu = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: /^Account and organisation/ }).click();
  await page.getByRole('menu').waitFor();
};

const createKey = async (page: Page): Promise<void> => {
  await press('Create API key')(page);
  await page.getByLabel('Name').fill('screenshot');
  await page.getByRole('button', { name: 'Create', exact: false }).last().click();
  await page.getByRole('button', { name: /^Copy/ }).first().waitFor();
};

type Address = Pick<ConsolePage, 'route' | 'at' | 'mode'>;

const rental: Address = {
  route: '/rentals/$rentalId',
  mode: 'test',
  at: ({ rentals }: Seeded) => `/rentals/${String(rentals.train)}`,
};
const volume: Address = {
  route: '/volumes/$volumeId',
  mode: 'test',
  at: ({ volumeId }) => `/volumes/${String(volumeId)}`,
};
const webhook: Address = { route: '/webhooks/$webhookId', at: ({ webhookId }) => `/webhooks/${webhookId}` };
const machine: Address = {
  route: '/supplier/machines/$machineId',
  at: ({ machineId }) => `/supplier/machines/${machineId}`,
};
const hosts: Address = { route: '/supplier/machines', at: () => '/supplier/machines?tab=join' };
const organisation: Address = {
  route: '/operator/organisations/$organisationId',
  at: ({ organisationId }) => `/operator/organisations/${organisationId}`,
};
const members: Address = {
  ...organisation,
  at: ({ organisationId }) => `/operator/organisations/${organisationId}?tab=members`,
};
const node: Address = { route: '/operator/nodes/$nodeId', at: ({ nodeId }) => `/operator/nodes/${nodeId}` };

export const dialogs: readonly ConsolePage[] = [
  { route: '/overview', prepare: openPalette('de'), as: 'palette' },
  { route: '/overview', prepare: pressKey('?'), as: 'shortcuts' },
  { route: '/overview', prepare: openMenu, as: 'account-menu' },
  { ...rental, prepare: press('Stop'), as: 'rental-stop' },
  { ...rental, prepare: press('Reboot'), as: 'rental-reboot' },
  { ...rental, prepare: press('Terminate'), as: 'rental-terminate' },
  { route: '/playground', mode: 'test', prepare: press('View code'), as: 'playground-code' },
  { route: '/volumes', mode: 'test', prepare: press('Create volume'), as: 'volume-create' },
  { ...volume, prepare: press('Edit'), as: 'volume-edit' },
  { ...volume, prepare: press('Delete'), as: 'volume-delete' },
  { ...volume, prepare: press('Restore'), as: 'snapshot-restore' },
  {
    route: '/instances/$name',
    mode: 'test',
    at: ({ instanceName }) => `/instances/${instanceName}`,
    prepare: press('Terminate'),
    as: 'instance-terminate',
  },
  { route: '/budgets', prepare: press('Create budget'), as: 'budget-create' },
  { route: '/budgets', prepare: press(/^Edit /), as: 'budget-edit' },
  { route: '/budgets', prepare: press(/^Delete /), as: 'budget-delete' },
  { route: '/keys', prepare: press('Create API key'), as: 'key-create' },
  { route: '/keys', prepare: press(/^Rotate /), as: 'key-rotate' },
  { route: '/keys', prepare: press(/^Revoke /), as: 'key-revoke' },
  { route: '/keys', prepare: createKey, as: 'key-created' },
  { route: '/ssh-keys', mode: 'test', prepare: press(/^Delete /), as: 'ssh-key-delete' },
  { route: '/webhooks', prepare: press('Create webhook'), as: 'webhook-create' },
  { ...webhook, prepare: press('Edit'), as: 'webhook-edit' },
  { ...webhook, prepare: press('Rotate secret'), as: 'webhook-rotate' },
  { ...webhook, prepare: press('Disable'), as: 'webhook-disable' },
  { ...webhook, prepare: press('Delete'), as: 'webhook-delete' },
  { ...webhook, prepare: press(/^View delivery/), as: 'webhook-delivery' },
  { route: '/team', prepare: press('Invite member'), as: 'member-invite' },
  { route: '/team', prepare: press('Remove'), as: 'member-remove' },
  { ...hosts, prepare: press('Add host'), as: 'supplier-token' },
  { ...hosts, prepare: press('Revoke'), as: 'supplier-token-revoke' },
  { ...machine, prepare: press('Drain'), as: 'supplier-drain' },
  { ...machine, prepare: press('Withdraw'), as: 'supplier-withdraw' },
  { ...node, prepare: press('Drain'), as: 'operator-drain' },
  { ...node, prepare: press('Quarantine'), as: 'operator-quarantine' },
  { ...node, prepare: press('Mark faulty'), as: 'operator-faulty-gpu' },
  { route: '/operator/maintenance', prepare: press('Announce maintenance'), as: 'operator-announce' },
  { route: '/operator/providers', prepare: press('Register cluster'), as: 'operator-cluster' },
  { route: '/operator/providers', prepare: press('Disable'), as: 'operator-provider-disable' },
  { route: '/operator/prices', prepare: press('Set price'), as: 'operator-set-price' },
  { route: '/operator/prices', prepare: press('End price'), as: 'operator-end-price' },
  { route: '/operator/prices', prepare: press('Add term'), as: 'operator-add-term' },
  {
    route: '/operator/organisations',
    prepare: press('Create organisation'),
    as: 'operator-create-organisation',
  },
  { ...organisation, prepare: press('Adjust balance'), as: 'operator-correct' },
  { ...organisation, prepare: press('Grant credit'), as: 'operator-grant' },
  { ...organisation, prepare: press('Set overdraft'), as: 'operator-overdraft' },
  { ...organisation, prepare: press('Suspend'), as: 'operator-suspend' },
  { ...organisation, prepare: press('Add discount'), as: 'operator-discount' },
  { ...members, prepare: press('Add member'), as: 'operator-add-member' },
  { route: '/operator/models', prepare: press('Add model'), as: 'operator-add-model' },
  { route: '/operator/models', prepare: press('Register engine'), as: 'operator-engine' },
  { route: '/operator/models', prepare: press('Retire'), as: 'operator-retire-model' },
  { route: '/operator/suppliers', prepare: press('Change fee'), as: 'operator-supplier-fee' },
  { route: '/operator/suppliers', prepare: press('Suspend'), as: 'operator-supplier-suspend' },
];
