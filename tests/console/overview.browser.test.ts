import { insertFleet, insertMarketplaceProvider, insertSupplierMachine } from '@millrace/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { charge, credit, usd } from '../../packages/core/src/money.fixture.ts';
import { createOwner, withMode, type Owner } from './accounts.ts';
import { openBrowser, type TabSession, type TestBrowser } from './browser.ts';
import { openConsoleStack, type ConsoleStack } from './console-stack.ts';
import { waitUntilLoaded } from './open-page.ts';

// The overviews of tenant, operator and supplier in a real browser against the real service.

let stack: ConsoleStack;
let browser: TestBrowser;
let owner: Owner;
beforeAll(async () => {
  stack = await openConsoleStack({ gateway: false });
  browser = await openBrowser();
  owner = await createOwner(stack, { organisation: 'Quiet River Labs', isOperator: true, supplies: true });
  await credit(stack, owner.orgId, { amount: usd(100) });
  // A budget counts charges from its creation.
  await createBudget();
  await charge(stack, owner.orgId, { amount: usd(2.490000001), cause: { kind: 'rental', id: '1042' } });
  await insertMarketplaceProvider(stack.db);
  await insertSupplierMachine(stack.db, {
    orgId: owner.orgId,
    provider: 'marketplace',
    region: 'us-central-1',
    approval: 'pending',
    gpusPerNode: 2,
  });
  await insertFleet(stack.db, { nodes: 2, gpuType: 'h200' });
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await stack?.[Symbol.asyncDispose]();
});

async function createBudget(): Promise<void> {
  const response = await fetch(`${stack.apiUrl}/v2/customer/budgets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await owner.key('live')}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Research', period: 'month', limitNanoUsd: '3000000000' }),
  });
  expect(response.status).toBe(201);
}

const inside = (path: string, work: (tab: TabSession) => Promise<void>) =>
  browser.withTab(
    { url: stack.apiUrl, session: withMode(owner.session, stack.apiUrl, owner.orgId, 'live') },
    async (tab) => {
      await tab.goto(path);
      await waitUntilLoaded(tab.page);
      await work(tab);
    },
  );

test('the overview shows the cost of the month, and its items link to their causes', async () => {
  await inside('/overview', async ({ page }) => {
    const main = page.getByRole('main');
    // Rounded in the headline; the element has the exact amount.
    await expect.poll(() => main.locator('data[value="2490000001"]').first().innerText()).toBe('$2.49');
    await expect.poll(() => main.innerText()).toContain('No machines or volumes');
    const attention = page.getByRole('list', { name: 'Needs attention' });
    await attention.getByRole('link', { name: 'Budget Research is at 83 %' }).click();
    await page.getByRole('heading', { level: 1, name: 'Budgets' }).waitFor();
  });
});

test('the first steps follow the data, are one click away and stay dismissed', async () => {
  await inside('/overview', async ({ page }) => {
    const steps = page.getByRole('progressbar', { name: 'Get started' });
    expect(await steps.getAttribute('aria-valuenow')).toBe('2');
    await page.getByRole('link', { name: 'Browse catalog' }).click();
    await page.getByRole('heading', { level: 1, name: 'Catalog' }).waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await steps.waitFor({ state: 'detached' });
    await page.reload();
    await waitUntilLoaded(page);
    await page.getByRole('heading', { name: 'Machines and volumes' }).waitFor();
    expect(await steps.count()).toBe(0);
  });
});

test('the operator overview shows revenue, utilisation and pending decisions', async () => {
  await inside('/operator', async ({ page }) => {
    const main = page.getByRole('main');
    await expect.poll(() => main.locator('data[value="2490000001"]').count()).toBeGreaterThan(1);
    const use = page.getByRole('table', { name: 'Utilisation by GPU type' });
    await expect.poll(() => use.getByRole('row', { name: /H200/ }).innerText()).toMatch(/0 of \d+/);
    const setup = page.getByRole('progressbar', { name: 'Set up this installation' });
    expect(await setup.getAttribute('aria-valuemax')).toBe('4');
    await page.getByRole('link', { name: '1 supplier machine to review' }).click();
    await page.getByRole('heading', { level: 1, name: 'Suppliers' }).waitFor();
    expect(page.url()).toContain('tab=machines');
  });
});

test('the supplier overview shows earnings, and the state of each machine', async () => {
  await inside('/supplier', async ({ page }) => {
    const main = page.getByRole('main');
    await expect.poll(() => main.innerText()).toContain('Earned this month');
    const machines = page.getByRole('table', { name: 'Machines and what they earn' });
    await expect.poll(() => machines.getByRole('row').count()).toBe(2);
    await expect.poll(() => machines.innerText()).toContain('0 of 2 GPUs');
    const attention = page.getByRole('list', { name: 'Needs attention' });
    await attention.getByRole('link', { name: /is offline|waits for approval/ }).click();
    await expect.poll(() => page.url()).toContain('/supplier/machines/');
  });
});
