import { newReadinessKey } from '@millrace/compute/readiness';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBrowser, desktopViewport, type TestBrowser } from './browser.ts';
import { openConsoleStack, type ConsoleStack } from './console-stack.ts';
import { waitUntilLoaded } from './open-page.ts';
import { withMode, createOwner, type Owner } from './accounts.ts';

const region = 'us-central-1';

let stack: ConsoleStack;
let browser: TestBrowser;
let owner: Owner;
beforeAll(async () => {
  [stack, browser] = await Promise.all([
    openConsoleStack({ gateway: false, metalRegion: region }),
    openBrowser(),
  ]);
  owner = await createOwner(stack, { organisation: 'Quiet River Labs' });
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await stack?.[Symbol.asyncDispose]();
});

test('bare metal is chosen in the catalog, rented in test mode, runs, and is terminated with a receipt', async () => {
  const session = withMode(owner.session, stack.apiUrl, owner.orgId, 'test');
  await browser.withTab({ url: stack.apiUrl, viewport: desktopViewport, session }, async ({ page, goto }) => {
    await goto('/catalog?type=bare-metal');
    await waitUntilLoaded(page);
    await page
      .getByRole('link', { name: new RegExp(`^Rent 8 × \\w+ in ${region}`) })
      .first()
      .click();
    await page.getByLabel('Public key').fill(newReadinessKey().publicKey);
    await page.getByRole('button', { name: 'Save key' }).click();
    const name = await page.getByRole('textbox', { name: 'Name', exact: true }).inputValue();
    const command = await page.getByRole('region', { name: 'equivalent command' }).innerText();
    expect(command).toContain('--bare-metal');
    const summary = page.getByRole('complementary', { name: 'Summary' });
    await summary.getByRole('button', { name: 'Create machine', disabled: false }).click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
    const state = page.getByRole('region', { name: 'Status' });
    await state.getByText('Running:').waitFor();
    await page.getByRole('region', { name: 'SSH command' }).first().waitFor();
    await page.getByRole('tab', { name: 'Metrics' }).click();
    await page.getByText('Bare metal has no metrics').waitFor();
    await page.getByRole('button', { name: 'Terminate' }).first().click();
    const dialog = page.getByRole('alertdialog');
    await dialog.getByRole('button', { name: 'Terminate' }).click();
    await page.getByRole('tab', { name: 'Overview' }).click();
    await page.getByRole('heading', { level: 2, name: 'Receipt' }).waitFor();
  });
});
