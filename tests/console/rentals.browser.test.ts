import { newReadinessKey } from '@millrace/compute/readiness';
import { eventually } from '@millrace/testing';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startResponseDroppingProxy, type ResponseDroppingProxy } from '../stack/response-dropping-proxy.ts';
import { MOCK_REGION } from '../stack/mock-stack.ts';
import { openBrowser, type TestBrowser, type TabSession } from './browser.ts';
import { openConsoleStack, type ConsoleStack } from './console-stack.ts';
import { withMode, createOwner, type Owner } from './accounts.ts';

// Rentals, volumes and the event feed, through a proxy that can interrupt it.

let stack: ConsoleStack;
let browser: TestBrowser;
let proxy: ResponseDroppingProxy;
let owner: Owner;
let key: string;
beforeAll(async () => {
  stack = await openConsoleStack({ gateway: false });
  [browser, proxy, owner] = await Promise.all([
    openBrowser(),
    startResponseDroppingProxy(stack.apiUrl),
    createOwner(stack, { organisation: 'Quiet River Labs' }),
  ]);
  key = await owner.key('test');
  await call('POST', '/v2/ssh-public-keys', { name: 'laptop', publicKey: newReadinessKey().publicKey });
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await proxy?.[Symbol.asyncDispose]();
  await stack?.[Symbol.asyncDispose]();
});

const rentals = '/v2/on-demand/virtual-machine-rentals';
/** Pages poll with intervals. Without them only the event feed can show a change, however slow the machine is. */
const withoutPolling = 'globalThis.setInterval = () => 0;';

// oxlint-disable-next-line typescript/no-explicit-any -- a test reads fields of an answer that it depends on
async function call(method: string, path: string, body?: object): Promise<any> {
  const response = await fetch(stack.apiUrl + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${String(response.status)} ${text}`);
  return text === '' ? null : JSON.parse(text);
}

async function runningRental(name: string, more: object = {}): Promise<number> {
  const request = { region: MOCK_REGION, gpuType: 'h100', gpuCount: 1, name, ...more };
  const { id } = await call('POST', rentals, request);
  await eventually({ what: `${name} to run`, timeoutMs: 300_000 }, async () => {
    return (await call('GET', `/v2/on-demand/rentals/${String(id)}`)).status === 'Running';
  });
  return id as number;
}

const terminate = (rentalId: number) => call('POST', `${rentals}/terminate`, { rentalId, reason: 'test' });

/** Through the proxy the tab is read-only: the service accepts changes only from pages of its own origin. */
const inside = <T>(
  path: string,
  work: (tab: TabSession) => Promise<T>,
  { url, script }: { readonly url: string; readonly script?: string } = { url: stack.apiUrl },
) =>
  browser.withTab({ url, session: withMode(owner.session, url, owner.orgId, 'test') }, async (tab) => {
    if (script !== undefined) await tab.context.addInitScript({ content: script });
    await tab.goto(path);
    return work(tab);
  });

const watching = <T>(path: string, work: (tab: TabSession) => Promise<T>) =>
  inside(path, work, { url: proxy.url, script: withoutPolling });

const stateOf = (page: Page): Locator => page.getByRole('region', { name: 'Status' });
const feeds = () => proxy.seen.filter(({ path }) => path.startsWith('/v2/events'));

/** Waits until the feed after the first `count` ones has sent its position. */
const feedAfter = (count: number) =>
  eventually(
    { what: 'the feed to be opened', timeoutMs: 300_000 },
    () => feeds()[count]?.hasStarted() === true,
  );

test('a change elsewhere appears through the event feed, without polling', async () => {
  const id = await runningRental('watched');
  const before = feeds().length;
  await watching(`/rentals/${String(id)}`, async ({ page }) => {
    await stateOf(page).getByText('Running:').waitFor();
    await feedAfter(before);
    await terminate(id);
    await stateOf(page)
      .getByText(/^Terminat(ing|ed):$/)
      .waitFor();
    await page.getByRole('heading', { name: 'Receipt' }).waitFor();
  });
});

test('an interrupted event feed resumes at its position', async () => {
  const id = await runningRental('cut-off');
  const before = feeds().length;
  // The position comes first, then part of the first event, then the connection breaks.
  proxy.cutNext('/v2/events', 100);
  await watching(`/rentals/${String(id)}`, async ({ page, expect: allow }) => {
    allow(/request failed: GET \S+\/v2\/events/);
    await stateOf(page).getByText('Running:').waitFor();
    await feedAfter(before);
    await terminate(id);
    await stateOf(page)
      .getByText(/^Terminat(ing|ed):$/)
      .waitFor();
    await feedAfter(before + 1);
    const { headers } = feeds().at(-1) ?? expect.fail('No feed was opened.');
    expect(headers['last-event-id']).toMatch(/^\d+$/);
  });
});

test('one tab follows the feed for all tabs, and another takes over when it closes', async () => {
  const [first, second] = [await runningRental('first-tab'), await runningRental('second-tab')];
  const before = feeds().length;
  await watching(`/rentals/${String(first)}`, async ({ page, context }) => {
    await stateOf(page).getByText('Running:').waitFor();
    await feedAfter(before);
    const other = await context.newPage();
    await other.goto(`/console/rentals/${String(second)}`);
    await stateOf(other).getByText('Running:').waitFor();
    await terminate(first);
    await stateOf(page)
      .getByText(/^Terminat/)
      .waitFor();
    expect(feeds().length, 'one feed for two tabs').toBe(before + 1);
    await page.close();
    await feedAfter(before + 1);
    await terminate(second);
    await stateOf(other)
      .getByText(/^Terminat/)
      .waitFor();
  });
});

test('a rental is stopped, started and renamed, and each disabled control says why', async () => {
  const id = await runningRental('paused');
  await inside('/rentals', async ({ page }) => {
    await page.getByRole('link', { name: 'paused' }).click();
    await page.getByRole('heading', { level: 1, name: 'paused' }).waitFor();
    await page.getByRole('region', { name: 'SSH command', exact: true }).waitFor();
    expect(await page.getByText(/^SHA256:/).innerText()).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
    expect(await page.getByRole('button', { name: 'Start' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Extend' }).hover();
    await page.getByText('This rental has no end date.').first().waitFor();

    await page.getByRole('button', { name: 'Stop' }).click();
    const dialog = page.getByRole('dialog', { name: 'Stop paused?' });
    await dialog.getByRole('radio', { name: 'Release' }).check();
    await dialog.getByText('There may be none.').waitFor();
    await dialog.getByRole('button', { name: 'Stop and release GPUs' }).click();
    await page.getByText('off, GPUs released').waitFor();
    await page.getByText('The machine is off. Start the rental to log in.').waitFor();

    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('region', { name: 'SSH command', exact: true }).waitFor();

    await page.getByRole('tab', { name: 'Settings' }).click();
    expect(new URL(page.url()).searchParams.get('tab')).toBe('settings');
    await page.getByLabel('Name').fill('renamed');
    await page.getByLabel('Tags').fill('team=vision');
    await page.getByRole('button', { name: 'Save' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'renamed' }).waitFor();
    expect((await call('GET', `/v2/on-demand/rentals/${String(id)}`)).tags).toEqual({ team: 'vision' });
  });
  await terminate(id);
});

test('a volume is created at the shown price, snapshotted, restored, resized, and deleted after typing its label', async () => {
  await inside('/volumes', async ({ page }) => {
    await page.getByRole('button', { name: 'Create volume' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Create volume' });
    await dialog.getByLabel('Label').fill('datasets');
    await dialog.getByLabel('Size in GB').fill('300');
    await dialog.getByText('Enter a multiple of 256 GB.').first().waitFor();
    await dialog.getByLabel('Size in GB').fill('512');
    await dialog.getByText('30 days').waitFor();
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { level: 1, name: 'datasets' }).waitFor();
    await stateOf(page).getByText('Active:').waitFor();
    await page.getByRole('region', { name: 'mount commands' }).waitFor();

    await page.getByLabel('New snapshot label').fill('before');
    await page.getByRole('button', { name: 'Take snapshot' }).click();
    await page.getByRole('row', { name: /before.*ready/ }).waitFor();

    await page.getByRole('button', { name: 'Restore', exact: true }).click();
    const restoring = page.getByRole('dialog', { name: 'Restore before' });
    await restoring.getByLabel('Restore to').selectOption('same-volume');
    expect(await restoring.getByRole('button', { name: 'Replace datasets' }).isDisabled()).toBe(true);
    await restoring.getByLabel('Type datasets to confirm').fill('datasets');
    await restoring.getByRole('button', { name: 'Replace datasets' }).click();
    await restoring.waitFor({ state: 'hidden' });
    await stateOf(page).getByText('Active:').waitFor();
    await page.getByRole('button', { name: 'Restore', exact: true }).click();
    await restoring.getByLabel('New volume label').fill('datasets-old');
    await restoring.getByText('30 days').waitFor();
    await restoring.getByRole('button', { name: 'Restore to new volume' }).click();
    await page.getByRole('heading', { level: 1, name: 'datasets-old' }).waitFor();
    await stateOf(page).getByText('Active:').waitFor();
    await page.getByText('512 GB in').waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'datasets', exact: true }).waitFor();

    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('dialog').getByLabel('Size in GB').fill('768');
    await page.getByRole('button', { name: 'Grow to 768 GB' }).click();
    await page.getByText('768 GB in').waitFor();

    await page.getByRole('button', { name: 'Delete', exact: true }).first().click();
    const sure = page.getByRole('alertdialog', { name: 'Delete datasets?' });
    expect(await sure.getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true);
    await sure.getByLabel('Type datasets to confirm').fill('datasets');
    await sure.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('row', { name: /datasets.*deleted/ }).waitFor();
  });
});

test('volume list and running costs show a volume during a restore as restoring, not as frozen', async () => {
  const volumes = '/v2/on-demand/storage-volumes';
  const request = { region: MOCK_REGION, label: 'kept-data', sizeInGb: 256 };
  const { storageVolumeId } = await call('POST', volumes, request);
  const detail = () => call('GET', `${volumes}/${String(storageVolumeId)}`);
  await eventually({ what: 'the volume to be active', timeoutMs: 300_000 }, async () => {
    return (await detail()).status === 'active';
  });
  // Restoring an empty volume is too fast to observe, so the responses are overridden.
  const asRestoring = { ...(await detail()), status: 'inactive' };
  const restoring = { snapshotId: 'snp_1', storageVolumeId, deadline: asRestoring.createdAt };
  await inside('/volumes', async ({ page, goto }) => {
    await page.route(/\/storage-volumes(\?.*)?$/, async (route) => {
      const { pathname } = new URL(route.request().url());
      const list = (await call('GET', pathname)) as readonly { readonly id: number }[];
      const json = list.map((each) => (each.id === storageVolumeId ? { ...each, status: 'inactive' } : each));
      await route.fulfill({ json });
    });
    await page.route(`**/storage-volumes/${String(storageVolumeId)}`, (route) =>
      route.fulfill({ json: { ...asRestoring, restoring } }),
    );
    await goto('/volumes');
    await page.getByRole('row', { name: /kept-data.*restoring/ }).waitFor();
    await goto('/money');
    await page.getByRole('row', { name: /kept-data.*billed while a snapshot is restored/ }).waitFor();
  });
});
