import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOwner, withMode, type Owner } from './accounts.ts';
import { expectAccessible } from './axe.ts';
import { openBrowser, type TabSession, type TestBrowser } from './browser.ts';
import { openConsoleStack, type ConsoleStack } from './console-stack.ts';
import { inputDevices, useInput } from './inputs.ts';
import { waitUntilLoaded } from './open-page.ts';

// A supplier's application and its approval in a real browser, with the mouse and with the keyboard alone.

let stack: ConsoleStack;
let browser: TestBrowser;
let operator: Owner;
beforeAll(async () => {
  stack = await openConsoleStack({ gateway: false });
  browser = await openBrowser();
  operator = await createOwner(stack, { organisation: 'Mill Cloud', isOperator: true });
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await stack?.[Symbol.asyncDispose]();
});

/** Expected answer before an organisation has applied. */
const notApplied = /refused: GET \S+\/v2\/supplier\/account 404/;

const asUser = (who: Owner, path: string, work: (tab: TabSession) => Promise<void>) =>
  browser.withTab(
    {
      url: stack.apiUrl,
      session: withMode(who.session, stack.apiUrl, who.orgId, 'live'),
      expected: [notApplied],
    },
    async (tab) => {
      await tab.goto(path);
      await waitUntilLoaded(tab.page);
      await work(tab);
    },
  );

test.each(inputDevices)(
  'a supplier applies and an operator approves the application with the %s',
  async (device) => {
    const supplierName = `North Computing ${device}`;
    const supplier = await createOwner(stack, { name: 'Nora Supplier', organisation: supplierName });
    await asUser(supplier, '/supplier', async ({ page }) => {
      const input = useInput(page, device);
      await page.getByRole('heading', { name: 'Become a supplier' }).waitFor();
      await input.fill(page.getByRole('textbox', { name: 'Price per GPU-hour (USD)' }), '2');
      await input.fill(page.getByRole('textbox', { name: 'Time rented (%)' }), '50');
      await input.fill(page.getByRole('textbox', { name: 'Fee of the operator (%)' }), '20');
      const main = page.getByRole('main');
      await expect.poll(() => main.innerText()).toContain('$4,608.00');
      await expectAccessible(page);
      await input.press(page.getByRole('button', { name: 'Apply' }));
      await page.getByRole('heading', { name: 'Your application' }).waitFor();
      const steps = page.getByRole('list', { name: 'From application to listing' });
      const current = steps.getByRole('listitem').filter({ hasText: '(current)' });
      expect(await current.innerText()).toContain('Review by the operator');
      await expectAccessible(page);

      await asUser(operator, '/operator/suppliers', async ({ page: office }) => {
        const decide = useInput(office, device);
        const row = office.getByRole('row').filter({ hasText: supplierName });
        await decide.press(row.getByRole('button', { name: 'Approve' }));
        const dialog = office.getByRole('dialog', { name: /^Approve/ });
        await decide.fill(dialog.getByRole('textbox', { name: 'Fee (%)' }), '15');
        await decide.fill(dialog.getByRole('textbox', { name: 'Reason' }), 'Met them');
        await expectAccessible(office);
        await decide.press(dialog.getByRole('button', { name: 'Approve' }));
        await dialog.waitFor({ state: 'hidden' });
        await expect.poll(() => row.innerText()).toContain('approved');
        expect(await row.innerText()).toContain('15 %');
      });

      await page.getByRole('heading', { name: 'Your application' }).waitFor({ state: 'detached' });
      await page.goto('/console/supplier/machines');
      await waitUntilLoaded(page);
      await expect.poll(() => current.innerText()).toContain('Machine joins');
      expect(await main.innerText()).toContain('15 %');
      await expectAccessible(page);
    });
  },
);
