import { insertMarketplaceProvider, insertSupplierMachine } from '@millrace/testing';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { charge, credit, usd } from '../../packages/core/src/money.fixture.ts';
import { createOwner, withMode, type Owner } from './accounts.ts';
import { expectAccessible } from './axe.ts';
import { openBrowser, type TabSession, type TestBrowser } from './browser.ts';
import { openConsoleStack, type ConsoleStack } from './console-stack.ts';
import { inputDevices, useInput, type InputDevice } from './inputs.ts';
import { waitUntilLoaded } from './open-page.ts';
import { payoutEnv, rentFrom } from './supplier-earnings.ts';

// The charges of a tenant and the earnings of its supplier in a real browser.

let stack: ConsoleStack;
let browser: TestBrowser;
let operator: Owner;
beforeAll(async () => {
  [stack, browser] = await Promise.all([openConsoleStack({ gateway: false, env: payoutEnv }), openBrowser()]);
  operator = await createOwner(stack, { organisation: 'Mill Cloud', isOperator: true });
  await insertMarketplaceProvider(stack.db);
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await stack?.[Symbol.asyncDispose]();
});

const asUser = (who: Owner, path: string, work: (tab: TabSession) => Promise<void>) =>
  browser.withTab(
    { url: stack.apiUrl, session: withMode(who.session, stack.apiUrl, who.orgId, 'live') },
    async (tab) => {
      await tab.goto(path);
      await waitUntilLoaded(tab.page);
      await work(tab);
    },
  );

/** Exact amount in nano-USD, even if the text is rounded. */
const amount = (place: Page | Locator, nano: bigint): Locator =>
  place.locator(`data[value="${String(nano)}"]`).first();

async function createTenant(): Promise<Owner> {
  const tenant = await createOwner(stack, { organisation: 'Quiet River Labs' });
  await credit(stack, tenant.orgId, { amount: usd(100) });
  return tenant;
}

async function createSupplier(name: string): Promise<Owner> {
  const supplier = await createOwner(stack, { name: 'Nora Supplier', organisation: name, supplies: true });
  await insertSupplierMachine(stack.db, {
    orgId: supplier.orgId,
    provider: 'marketplace',
    region: 'us-central-1',
    listed: false,
    pricePerGpuHourNanoUsd: null,
    gpusPerNode: 2,
  });
  return supplier;
}

test.each(inputDevices)(
  'usage shows the exact charges by day, product and rental with the %s',
  async (device) => {
    const tenant = await createTenant();
    await charge(stack, tenant.orgId, { amount: usd(2.490000001), cause: { kind: 'rental', id: '1042' } });
    await charge(stack, tenant.orgId, { amount: usd(0.25), cause: { kind: 'volume', id: '7' } });
    const total = 2_740_000_001n;
    await asUser(tenant, '/overview', async ({ page }) => {
      const input = useInput(page, device);
      await input.press(page.getByRole('navigation').getByRole('link', { name: 'Usage' }));
      await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
      const main = page.getByRole('main');
      // Rounded in the headline; the element has the exact amount.
      await expect.poll(() => amount(main, total).innerText()).toBe('$2.74');
      await page.getByRole('heading', { name: 'Daily spending' }).waitFor();
      const byDay = page.getByRole('table', { name: 'Usage by day' });
      await amount(byDay, total).waitFor();
      const group = page.getByRole('combobox', { name: 'Group by' });
      await input.choose(group, 'Product');
      const byProduct = page.getByRole('table', { name: 'Usage by product' });
      await amount(byProduct, 2_490_000_001n).waitFor();
      await amount(byProduct, 250_000_000n).waitFor();
      await input.choose(group, 'Rental');
      const byRental = page.getByRole('table', { name: 'Usage by rental' });
      await amount(byRental.getByRole('row', { name: 'Rental 1042' }), 2_490_000_001n).waitFor();
      await expect.poll(() => main.innerText()).toContain('the rest of $0.25 is not for rentals');
      await expectAccessible(page);
      const download = page.waitForEvent('download');
      await input.press(page.getByRole('button', { name: 'Download CSV (FOCUS)' }));
      const lines = await readLines(await (await download).createReadStream());
      expect(lines.length).toBeGreaterThan(2);
    });
  },
);

async function readLines(stream: AsyncIterable<Buffer | string>): Promise<readonly string[]> {
  let text = '';
  for await (const part of stream) text += part.toString();
  return text.split('\n').filter((line) => line !== '');
}

test.each(inputDevices)('a supplier prices and lists a machine with the %s', async (device) => {
  const supplier = await createSupplier(`North Computing ${device}`);
  await asUser(supplier, '/supplier/machines', async ({ page }) => {
    const input = useInput(page, device);
    const row = page.getByRole('table', { name: 'My machines' }).getByRole('row', { name: /planted/ });
    expect(await row.innerText()).toContain('not set');
    expect(await row.innerText()).toContain('0 of 2 GPUs');
    await expectAccessible(page);
    await input.press(row.getByRole('link', { name: 'planted' }));
    const price = page.getByRole('textbox', { name: 'Price per GPU-hour (USD)' });
    await input.send([[price, '1.85']], page.getByRole('button', { name: 'Set price' }));
    await amount(page.getByRole('main'), 1_850_000_000n).waitFor();
    await input.press(page.getByRole('button', { name: 'List on marketplace' }));
    await page.getByRole('button', { name: 'Unlist' }).waitFor();
    await expectAccessible(page);
    await input.press(page.getByRole('link', { name: 'My machines' }).first());
    await expect.poll(() => row.innerText()).toContain('$1.85');
  });
});

/** By which the operator's list tells apart the payouts of the two runs. */
const payoutAmounts: Readonly<Record<InputDevice, { readonly usd: string; readonly nano: bigint }>> = {
  mouse: { usd: '4.50', nano: 4_500_000_000n },
  keyboard: { usd: '3.25', nano: 3_250_000_000n },
};

test.each(inputDevices)(
  'earnings of a rental are exact, and the operator pays a requested payout with the %s',
  async (device) => {
    const supplier = await createSupplier(`East Computing ${device}`);
    const payout = payoutAmounts[device];
    const tenant = await createTenant();
    await rentFrom(stack, supplier.orgId, tenant.orgId);
    await asUser(supplier, '/supplier', async ({ page }) => {
      const input = useInput(page, device);
      const main = page.getByRole('main');
      await amount(main, 9_000_000_000n).waitFor();
      await input.press(page.getByRole('navigation').getByRole('link', { name: 'Earnings' }));
      await page.getByRole('heading', { level: 1, name: 'Earnings' }).waitFor();
      const days = page.getByRole('table', { name: 'Daily earnings' });
      await amount(days, 9_000_000_000n).waitFor();
      await expect.poll(() => days.innerText()).toContain('10 h');
      await expectAccessible(page);

      await input.press(page.getByRole('button', { name: 'Request payout' }));
      const dialog = page.getByRole('dialog', { name: 'Request payout' });
      await input.send(
        [[dialog.getByRole('textbox', { name: 'Amount (USD)' }), payout.usd]],
        dialog.getByRole('button', { name: 'Request payout' }),
      );
      await dialog.waitFor({ state: 'hidden' });
      await input.press(page.getByRole('tab', { name: 'Payouts' }));
      const payouts = page.getByRole('table', { name: 'Payouts' });
      await amount(payouts, payout.nano).waitFor();
      await expect.poll(() => payouts.innerText()).toContain('requested');

      await asUser(operator, '/operator/suppliers?tab=payouts', async ({ page: office }) => {
        const decide = useInput(office, device);
        const row = office
          .getByRole('row')
          .filter({ has: office.locator(`data[value="${String(payout.nano)}"]`) });
        await decide.press(row.getByRole('button', { name: 'Mark as paid' }));
        const form = office.getByRole('dialog', { name: `Mark $${payout.usd} to planted as paid` });
        await decide.send(
          [
            [form.getByRole('textbox', { name: 'Reference' }), `Transfer by ${device}`],
            [form.getByRole('textbox', { name: 'Reason' }), 'Monthly payouts'],
          ],
          form.getByRole('button', { name: 'Mark as paid' }),
        );
        await form.waitFor({ state: 'hidden' });
        await expect.poll(() => row.innerText()).toContain('paid');
      });
      // Without a reload.
      await expect.poll(() => payouts.innerText()).toContain(`Transfer by ${device}`);
      await expectAccessible(page);
    });
  },
);
