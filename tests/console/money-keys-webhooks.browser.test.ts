import { existsSync, readFileSync } from 'node:fs';
import { newReadinessKey } from '@millrace/compute/readiness';
import { insertInvoice } from '@millrace/testing';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { charge, credit, usd } from '../../packages/core/src/money.fixture.ts';
import { openBrowser, type TestBrowser, type TabSession } from './browser.ts';
import { openConsoleStack, type ConsoleStack } from './console-stack.ts';
import { waitUntilLoaded } from './open-page.ts';
import { withMode, createOwner, type Owner } from './accounts.ts';

// What people do with money, keys and webhooks, by the names that they see, in a real browser against the real service.

let stack: ConsoleStack;
let browser: TestBrowser;
let owner: Owner;
let invoiceId: string;
beforeAll(async () => {
  stack = await openConsoleStack({ gateway: false });
  browser = await openBrowser();
  owner = await createOwner(stack, { organisation: 'Quiet River Labs' });
  await credit(stack, owner.orgId, { amount: usd(100) });
  await charge(stack, owner.orgId, { amount: usd(2.490000001), cause: { kind: 'rental', id: '1042' } });
  await charge(stack, owner.orgId, { amount: usd(0.25), cause: { kind: 'volume', id: '7' } });
  invoiceId = await insertInvoice(stack.db, owner.orgId);
}, 240_000);
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await stack?.[Symbol.asyncDispose]();
}, 60_000);

const inside = (path: string, work: (tab: TabSession) => Promise<void>, expected: readonly RegExp[] = []) =>
  browser.withTab(
    { url: stack.apiUrl, session: withMode(owner.session, stack.apiUrl, owner.orgId, 'live'), expected },
    async (tab) => {
      await tab.goto(path);
      await waitUntilLoaded(tab.page);
      await work(tab);
    },
  );

/** The secret that is shown this once. */
const secretOf = async (page: Page, what: string): Promise<string> =>
  (await page.getByRole('region', { name: what, exact: true }).innerText()).trim();

const statusWith = async (key: string): Promise<number> =>
  (await fetch(`${stack.apiUrl}/v2/me`, { headers: { authorization: `Bearer ${key}` } })).status;

async function closeSecret(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Done' }).click();
  await expect.poll(() => page.getByRole('alert').innerText()).toContain('gone for good');
  await page.getByRole('button', { name: 'I have kept it, close' }).click();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
}

test('the balance is exact, and what was spent is told by day and product', async () => {
  await inside('/money', async ({ page }) => {
    const main = page.getByRole('main');
    await expect.poll(() => main.innerText()).toContain('$97.259999999');
    await page.getByText('Spend by day as a table').click();
    const table = page.getByRole('table', { name: 'Spend by day and product' });
    const today = table.getByRole('row').nth(1);
    const cells = await today.getByRole('cell').allInnerTexts();
    expect(cells).toEqual(['$2.490000001', '$0.25', '$2.740000001']);
    await expect.poll(() => main.innerText()).toContain('takes no cards');
  });
}, 60_000);

test('the ledger leads to causes, keeps its filters in the address, and is exported', async () => {
  await inside('/ledger', async ({ page }) => {
    const table = page.getByRole('table', { name: 'Changes of the balance, newest first' });
    await expect.poll(() => table.getByRole('row').count()).toBe(4);
    await page.getByRole('combobox', { name: 'Cause', exact: true }).selectOption('Rentals');
    await expect.poll(() => table.getByRole('row').count()).toBe(2);
    expect(page.url()).toContain('causeKind=rental');
    await page.reload();
    await waitUntilLoaded(page);
    await expect.poll(() => table.getByRole('row').count()).toBe(2);
    const line = table.getByRole('row').nth(1);
    expect(await line.innerText()).toContain('-$2.490000001');
    const link = line.getByRole('link', { name: 'Rental 1042' });
    expect(await link.getAttribute('href')).toBe('/console/rentals/1042');
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: /^Export costs/ }).click(),
    ]);
    const csv = readFileSync(await file.path(), 'utf8');
    expect(csv).toContain('BilledCost');
    expect(csv).toContain('2.490000001');
  });
}, 60_000);

test('a budget is made, shows how much of it is used, and is deleted', async () => {
  await inside('/budgets', async ({ page }) => {
    await page.getByRole('button', { name: 'New budget' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await expect.poll(() => dialog.getByRole('alert').innerText()).toContain('above zero');
    await dialog.getByRole('textbox', { name: 'Limit in US dollars' }).fill('10');
    // By Enter, as people do.
    await dialog.getByRole('textbox', { name: 'Limit in US dollars' }).press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    const row = page.getByRole('row').filter({ hasText: 'Monthly' });
    await expect.poll(() => row.innerText()).toContain('$10.00');
    await row.getByRole('button', { name: 'Delete Monthly' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('You have no budgets yet.').waitFor();
  });
}, 60_000);

test('an invoice adds up and comes as a PDF', async () => {
  await inside(`/invoices/${invoiceId}`, async ({ page }) => {
    expect(await page.getByText('do not come to the total').count()).toBe(0);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: /^Download .* as PDF$/ }).click(),
    ]);
    expect(file.suggestedFilename()).toMatch(/\.pdf$/);
    const path = await file.path();
    expect(existsSync(path)).toBe(true);
    expect(readFileSync(path).subarray(0, 5).toString()).toBe('%PDF-');
  });
}, 60_000);

test('a key is shown once and works; rotated, both work for a while; revoked, it is refused', async () => {
  await inside('/keys', async ({ page }) => {
    await page.getByRole('button', { name: 'New API key' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Name' }).fill('robot');
    await dialog.getByRole('button', { name: 'Read only' }).click();
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByText('Copy it now.').waitFor();
    const first = await secretOf(page, 'API key');
    expect(first).toMatch(/^mr_live_/);
    const request = await secretOf(page, 'request to try the key');
    expect(request).toContain('MILLRACE_API_KEY');
    expect(request).not.toContain(first);
    expect(await statusWith(first)).toBe(200);
    expect(page.url()).not.toContain('mr_');
    await page.keyboard.press('Escape');
    await dialog.getByText('gone for good').waitFor();
    await dialog.getByRole('button', { name: 'I have kept it, close' }).click();
    await dialog.waitFor({ state: 'hidden' });
    expect(await page.content()).not.toContain(first);

    await page.getByRole('button', { name: 'Rotate robot' }).click();
    await dialog.getByRole('button', { name: 'Rotate', exact: true }).click();
    await dialog.getByText('Copy it now.').waitFor();
    const second = await secretOf(page, 'API key');
    expect(second).not.toBe(first);
    expect([await statusWith(first), await statusWith(second)]).toEqual([200, 200]);
    await closeSecret(page);

    await page.getByRole('button', { name: 'Revoke robot' }).first().click();
    const sure = page.getByRole('alertdialog');
    expect(await sure.innerText()).toContain('go on costing');
    await sure.getByRole('button', { name: 'Revoke', exact: true }).click();
    await sure.waitFor({ state: 'hidden' });
    await expect.poll(() => statusWith(second)).toBe(401);
  });
}, 90_000);

test('a private SSH key never leaves the page; a public one gets its comment as name', async () => {
  await inside('/ssh-keys', async ({ page }) => {
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') sent.push(request.url());
    });
    const field = page.getByRole('textbox', { name: 'Public key' });
    await field.fill('-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blb\n-----END OPENSSH PRIVATE KEY-----');
    await page.getByRole('alert').getByText('This is a private key.').waitFor();
    await page.getByRole('textbox', { name: 'Name' }).fill('mistake');
    await page.getByRole('textbox', { name: 'Name' }).press('Enter');
    expect(sent).toEqual([]);
    const { publicKey } = newReadinessKey();
    await page.reload();
    await waitUntilLoaded(page);
    await field.fill(`${publicKey.trim().split(' ').slice(0, 2).join(' ')} ada@laptop`);
    await page.getByRole('button', { name: 'Add key' }).click();
    const row = page.getByRole('row').filter({ hasText: 'ada@laptop' });
    await expect.poll(() => row.innerText()).toContain('SHA256:');
    await row.getByRole('button', { name: 'Delete ada@laptop' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('You have no SSH keys in live mode yet.').waitFor();
  });
}, 60_000);

test('a webhook is made, tried, looked into, switched off with the reason, and deleted', async () => {
  await inside('/webhooks', async ({ page }) => {
    await page.getByRole('button', { name: 'New webhook' }).first().click();
    const dialog = page.getByRole('dialog');
    // Nobody listens there, so that there is a failure to look into.
    await dialog.getByRole('textbox', { name: 'Address' }).fill('https://127.0.0.1:9/hook');
    await dialog.getByRole('button', { name: 'Create webhook' }).click();
    await dialog.getByText('Copy it now.').waitFor();
    expect(await secretOf(page, 'signing secret')).toMatch(/^whsec_/);
    await closeSecret(page);
    await page.getByRole('link', { name: 'https://127.0.0.1:9/hook' }).click();
    await page.getByRole('button', { name: 'Test it: send the newest event' }).click();
    const deliveries = page.getByRole('table', { name: 'Deliveries, newest first' });
    await expect.poll(() => deliveries.getByRole('row').count(), { timeout: 15_000 }).toBe(2);
    await expect.poll(() => deliveries.innerText(), { timeout: 20_000 }).toMatch(/, after /);
    await deliveries.getByRole('button', { name: /^Look at the delivery/ }).click();
    await expect.poll(() => secretOf(page, 'body of the delivery')).toContain('"seq"');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Switch off' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Switch off' }).click();
    await page.getByText('Switched off by its owner.').waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('You have no webhooks yet.').waitFor();
  });
}, 90_000);
