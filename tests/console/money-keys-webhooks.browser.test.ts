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

// Money, keys and webhooks in a real browser against the real service.

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
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await stack?.[Symbol.asyncDispose]();
});

const inside = (path: string, work: (tab: TabSession) => Promise<void>, expected: readonly RegExp[] = []) =>
  browser.withTab(
    { url: stack.apiUrl, session: withMode(owner.session, stack.apiUrl, owner.orgId, 'live'), expected },
    async (tab) => {
      await tab.goto(path);
      await waitUntilLoaded(tab.page);
      await work(tab);
    },
  );

const secretOf = async (page: Page, what: string): Promise<string> =>
  (await page.getByRole('region', { name: what, exact: true }).innerText()).trim();

const statusWith = async (key: string): Promise<number> =>
  (await fetch(`${stack.apiUrl}/v2/me`, { headers: { authorization: `Bearer ${key}` } })).status;

async function closeSecret(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Done' }).click();
  await expect.poll(() => page.getByRole('alert').innerText()).toContain('Did you save');
  await page.getByRole('button', { name: 'I saved it, close' }).click();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
}

test('the balance page shows the exact balance, and spending by day and product', async () => {
  await inside('/money', async ({ page }) => {
    const main = page.getByRole('main');
    await expect.poll(() => main.innerText()).toContain('$97.26');
    await main.locator('data[value="97259999999"]').first().waitFor();
    await page.getByText('Daily spending as table').click();
    const table = page.getByRole('table', { name: 'Daily spending by product' });
    const today = table.getByRole('row').nth(1);
    const cells = await today.getByRole('cell').allInnerTexts();
    expect(cells).toEqual(['$2.490000001', '$0.25', '$2.740000001']);
    await expect.poll(() => main.innerText()).toContain('does not accept cards');
  });
});

test('the usage page shows charges by day, product and resource, exact in the table', async () => {
  await inside('/usage', async ({ page }) => {
    const main = page.getByRole('main');
    await expect.poll(() => main.innerText()).toContain('$2.74');
    await page.getByText('Daily spending', { exact: true }).first().waitFor();
    const table = (by: string) => page.getByRole('table', { name: `Usage by ${by}` });
    await table('day').locator('data[value="2740000001"]').waitFor();
    await page.getByLabel('Group by').selectOption('product');
    await table('product')
      .getByRole('row', { name: /^Rentals/ })
      .locator('data[value="2490000001"]')
      .waitFor();
    await page.getByLabel('Group by').selectOption('volume');
    const volume = table('volume').getByRole('link', { name: 'Volume 7' });
    expect(await volume.getAttribute('href')).toBe('/console/volumes/7');
    await expect.poll(() => main.innerText()).toContain('is not for volumes');
    await page.getByRole('tab', { name: 'Requests' }).click();
    await page.waitForURL(/view=requests/);
    await page.getByRole('textbox', { name: 'Request ID' }).waitFor();
  });
});

test('the ledger links to causes, keeps filters in the URL, and can be exported', async () => {
  await inside('/ledger', async ({ page }) => {
    const table = page.getByRole('table', { name: 'Ledger entries, newest first' });
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
});

test('a budget is created, shows its usage, and is deleted', async () => {
  await inside('/budgets', async ({ page }) => {
    await page.getByRole('button', { name: 'Create budget' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await expect.poll(() => dialog.getByRole('alert').innerText()).toContain('above zero');
    await dialog.getByRole('textbox', { name: 'Limit (USD)' }).fill('10');
    await dialog.getByRole('textbox', { name: 'Limit (USD)' }).press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    const row = page.getByRole('row').filter({ hasText: 'Monthly' });
    await expect.poll(() => row.innerText()).toContain('$10.00');
    await row.getByRole('button', { name: 'Delete Monthly' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('No budgets yet').waitFor();
  });
});

test('an invoice adds up and downloads as PDF', async () => {
  await inside(`/invoices/${invoiceId}`, async ({ page }) => {
    expect(await page.getByText('do not add up to the total').count()).toBe(0);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: /^Download .* as PDF$/ }).click(),
    ]);
    expect(file.suggestedFilename()).toMatch(/\.pdf$/);
    const path = await file.path();
    expect(existsSync(path)).toBe(true);
    expect(readFileSync(path).subarray(0, 5).toString()).toBe('%PDF-');
  });
});

test('an API key is shown once and works; after rotation both keys work for a while; a revoked key is rejected', async () => {
  await inside('/keys', async ({ page }) => {
    await page.getByRole('button', { name: 'Create API key' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Name' }).fill('robot');
    await dialog.getByRole('button', { name: 'Read only' }).click();
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByText('Copy it now.').waitFor();
    const first = await secretOf(page, 'API key');
    expect(first).toMatch(/^mr_live_/);
    const request = await secretOf(page, 'test request');
    expect(request).toContain('MILLRACE_API_KEY');
    expect(request).not.toContain(first);
    expect(await statusWith(first)).toBe(200);
    expect(page.url()).not.toContain('mr_');
    await page.keyboard.press('Escape');
    await dialog.getByText('Did you save').waitFor();
    await dialog.getByRole('button', { name: 'I saved it, close' }).click();
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
    expect(await sure.innerText()).toContain('keep billing');
    await sure.getByRole('button', { name: 'Revoke', exact: true }).click();
    await sure.waitFor({ state: 'hidden' });
    await expect.poll(() => statusWith(second)).toBe(401);
  });
});

test('a private SSH key never leaves the page; a public key gets its comment as name', async () => {
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
    await page.getByText('No SSH keys in live mode yet').waitFor();
  });
});

test('a webhook is created, tested, inspected, disabled with a reason, and deleted', async () => {
  await inside('/webhooks', async ({ page }) => {
    await page.getByRole('button', { name: 'Create webhook' }).first().click();
    const dialog = page.getByRole('dialog');
    // No server listens there, so that deliveries fail.
    await dialog.getByRole('textbox', { name: 'Endpoint URL' }).fill('https://127.0.0.1:9/hook');
    await dialog.getByRole('button', { name: 'Create webhook' }).click();
    await dialog.getByText('Copy it now.').waitFor();
    expect(await secretOf(page, 'signing secret')).toMatch(/^whsec_/);
    await closeSecret(page);
    await page.getByRole('link', { name: 'https://127.0.0.1:9/hook' }).click();
    await page.getByRole('button', { name: 'Send test event' }).click();
    const deliveries = page.getByRole('table', { name: 'Deliveries, newest first' });
    await expect.poll(() => deliveries.getByRole('row').count()).toBe(2);
    await expect.poll(() => deliveries.innerText()).toMatch(/, after /);
    await deliveries.getByRole('button', { name: /^View delivery/ }).click();
    await expect.poll(() => secretOf(page, 'delivery payload')).toContain('"seq"');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Disable' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Disable' }).click();
    await page.getByText('Disabled by its owner.').waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No webhooks yet').waitFor();
  });
});
