import { newReadinessKey } from '@millrace/compute/readiness';
import { insertFleet } from '@millrace/testing';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MOCK_REGION } from '../stack/mock-stack.ts';
import { openBrowser, desktopViewport, type StorageState, type TestBrowser } from './browser.ts';
import { openConsoleStack, type ConsoleStack } from './console-stack.ts';
import { waitUntilLoaded, signedOutError } from './open-page.ts';
import { withMode, createOwner, type Owner } from './accounts.ts';

const GPU_HOUR = '2490000001';
const rentals = '/v2/on-demand/virtual-machine-rentals';

let stack: ConsoleStack;
let browser: TestBrowser;
let owner: Owner;
beforeAll(async () => {
  [stack, browser] = await Promise.all([openConsoleStack({ gateway: false }), openBrowser()]);
  owner = await createOwner(stack, { isOperator: true });
  await insertFleet(stack.db, { nodes: 2 });
  await call('live', 'POST', '/v2/admin/prices', {
    subject: { kind: 'gpu', gpuType: 'h100', machineType: 'virtual-machine', region: null },
    unit: 'gpu_hour',
    priceNanoUsd: GPU_HOUR,
    validFrom: new Date().toISOString(),
    reason: 'The list of this year',
  });
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

async function call(mode: 'live' | 'test', method: string, path: string, body?: object): Promise<Response> {
  const response = await fetch(stack.apiUrl + path, {
    method,
    headers: { authorization: `Bearer ${await owner.key(mode)}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return response;
}

const tab = (mode: 'live' | 'test'): StorageState => withMode(owner.session, stack.apiUrl, owner.orgId, mode);

/** Exact amount in nano-USD. */
const nanoIn = (place: Locator): Promise<string | null> =>
  place.locator('data').first().getAttribute('value');

const amountsIn = (place: Locator): Promise<(string | null)[]> =>
  place.locator('data').evaluateAll((all) => all.map((each) => each.getAttribute('value')));

const tileOf = (page: Page, count: number): Locator =>
  page.getByRole('link', { name: `Rent ${String(count)} × H100 in us-central-1` }).first();

test('the catalog and the rent form show the same exact price, and a filter survives a reload', async () => {
  await browser.withTab(
    { url: stack.apiUrl, viewport: desktopViewport, expected: [signedOutError] },
    async ({ page, goto }) => {
      await goto('/');
      await waitUntilLoaded(page);
      await page.getByLabel('GPU count').selectOption('2');
      await page.waitForURL(/count=2/);
      await page.reload();
      await waitUntilLoaded(page);
      expect(await tileOf(page, 1).count()).toBe(0);
      expect(await nanoIn(tileOf(page, 2))).toBe(String(2n * BigInt(GPU_HOUR)));
      await page.getByText(/as of \d+ s ago/).waitFor();
    },
  );
  await browser.withTab(
    { url: stack.apiUrl, viewport: desktopViewport, session: tab('live') },
    async ({ page, goto }) => {
      await goto('/?gpu=h100');
      await waitUntilLoaded(page);
      const card = await nanoIn(tileOf(page, 2));
      await tileOf(page, 2).click();
      const summary = page.getByRole('complementary', { name: 'Summary' });
      await summary.getByText('Required balance').waitFor();
      expect(await nanoIn(summary)).toBe(card);
      expect(card).toBe(String(2n * BigInt(GPU_HOUR)));
    },
  );
});

test('Create is disabled without SSH key and balance, and both reasons are shown', async () => {
  await browser.withTab(
    { url: stack.apiUrl, viewport: desktopViewport, session: tab('live') },
    async ({ page, goto }) => {
      await goto('/rent?gpu=h100&type=virtual-machine&count=1&region=us-central-1&network=ethernet');
      const summary = page.getByRole('complementary', { name: 'Summary' });
      const item = (text: string): Locator => summary.getByRole('listitem').filter({ hasText: text });
      await item('You need $').waitFor();
      await item('Choose at least one SSH key').waitFor();
      const create = summary.getByRole('button', { name: 'Create machine' });
      expect(await create.getAttribute('aria-disabled')).toBe('true');
      await summary.getByRole('link', { name: 'Top up' }).waitFor();
    },
  );
});

test('an SSH key is added in the rent form, a double click creates one rental, and its page opens', async () => {
  await browser.withTab(
    { url: stack.apiUrl, viewport: desktopViewport, session: tab('test') },
    async ({ page, goto }) => {
      await goto(`/rent?gpu=h100&type=virtual-machine&count=1&region=${MOCK_REGION}&network=ethernet`);
      await page.getByLabel('Public key').fill(newReadinessKey().publicKey);
      await page.getByRole('button', { name: 'Save key' }).click();
      const name = await page.getByRole('textbox', { name: 'Name', exact: true }).inputValue();
      const command = await page.getByRole('region', { name: 'equivalent command' }).innerText();
      expect(command).toContain(`--count 1 --region ${MOCK_REGION} --network ethernet --name ${name}`);
      const summary = page.getByRole('complementary', { name: 'Summary' });
      const create = summary.getByRole('button', { name: 'Create machine', disabled: false });
      await create.waitFor();
      const price = summary.getByRole('paragraph').first();
      expect(await amountsIn(price), 'free, and the live price').toEqual(['0', GPU_HOUR]);
      await create.dblclick();
      await page.waitForURL(/\/rentals\/\d+/);
      await page.getByRole('heading', { level: 1, name }).waitFor();
      const figure = page.getByRole('term').filter({ hasText: 'Price' }).locator('..');
      expect(await amountsIn(figure), 'free, and the live price').toEqual(['0', GPU_HOUR]);
      const response = await call('test', 'GET', rentals);
      const { items } = (await response.json()) as { readonly items: readonly { readonly name: string }[] };
      expect(items.map((rental) => rental.name)).toEqual([name]);
    },
  );
});

test('a sold-out offer stays visible, explains why, and can be requested', async () => {
  const order = { gpuType: 'b200', gpuCount: 8, region: MOCK_REGION, ttlSeconds: 7_200 };
  let last = 200;
  for (let tries = 0; tries < 20 && last === 200; tries += 1) {
    last = (await call('test', 'POST', rentals, order)).status;
  }
  expect(last).toBe(400);
  await browser.withTab(
    { url: stack.apiUrl, viewport: desktopViewport, session: tab('test') },
    async ({ page, goto }) => {
      await goto('/?gpu=b200&count=8');
      await waitUntilLoaded(page);
      await page
        .getByRole('button', { name: /Sold out: see options/ })
        .first()
        .click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('Expected to be available').waitFor();
      await dialog.getByRole('heading', { name: 'Available alternatives' }).waitFor();
      await dialog.getByRole('button', { name: 'Request a reservation' }).click();
      await dialog.getByText('Reservation request for 8 GPUs received').waitFor();
    },
  );
});

test('the idle rule is offered only if the service accepts it; otherwise the page says why not', async () => {
  await browser.withTab(
    { url: stack.apiUrl, viewport: desktopViewport, session: tab('live') },
    async ({ page, goto }) => {
      let isAccepted = true;
      await page.route('**/on-demand/quote', async (route) => {
        const response = await route.fetch();
        const quote = (await response.json()) as object;
        await route.fulfill({ response, json: { ...quote, idleRules: isAccepted } });
      });
      await goto('/rent?gpu=h100&type=virtual-machine&count=1&region=us-central-1&network=ethernet');
      const summary = page.getByRole('complementary', { name: 'Summary' });
      await summary.getByText('Required balance').waitFor();
      await page.getByText('Advanced: image, monitoring, idle rule').click();
      const idleAfter = page.getByLabel('After being idle for');
      await idleAfter.fill('30m');
      isAccepted = false;
      await page.getByLabel('Time to live').fill('8h');
      await page.getByText('these machines do not report how busy their GPUs are').waitFor();
      await summary.getByRole('listitem').filter({ hasText: 'Idle rule: Not available here' }).waitFor();
      await idleAfter.fill('');
      await idleAfter.waitFor({ state: 'detached' });
    },
  );
});

test('an operator writes off a volume by its number, and sees the error for an unknown number', async () => {
  const notFound = /POST \S+\/v2\/admin\/volumes\/\d+\/write-off 404/;
  await browser.withTab(
    { url: stack.apiUrl, viewport: desktopViewport, session: tab('live'), expected: [notFound] },
    async ({ page, goto }) => {
      await goto('/operator/rentals?tab=volumes');
      const open = page.getByRole('button', { name: 'Write off' });
      expect(await open.getAttribute('aria-disabled')).toBe('true');
      await page.getByLabel('Volume number').fill('2000000000');
      await open.click();
      const dialog = page.getByRole('dialog', { name: 'Write off volume 2000000000' });
      await dialog.getByLabel('Reason').fill('Its disks are gone');
      await dialog.getByLabel('The host is permanently off').check();
      await dialog.getByRole('button', { name: 'Write off' }).click();
      await dialog.getByText('VOLUME_NOT_FOUND').waitFor();
    },
  );
});
