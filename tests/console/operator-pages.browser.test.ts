import { newReadinessKey } from '@millrace/compute/readiness';
import { eventually, insertFleet } from '@millrace/testing';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MOCK_REGION } from '../stack/mock-stack.ts';
import { createOwner, withMode, type Owner } from './accounts.ts';
import { expectAccessible } from './axe.ts';
import { openBrowser, type TabSession, type TestBrowser } from './browser.ts';
import { openConsoleStack, type ConsoleStack } from './console-stack.ts';
import { inputDevices, useInput, type InputDevice } from './inputs.ts';
import { signedOutError, waitUntilLoaded } from './open-page.ts';

// Prices and nodes of an operator in a real browser, with the mouse and with the keyboard alone.

const REGION = 'us-central-1';

let stack: ConsoleStack;
let browser: TestBrowser;
let operator: Owner;
beforeAll(async () => {
  [stack, browser] = await Promise.all([openConsoleStack({ gateway: false }), openBrowser()]);
  operator = await createOwner(stack, { organisation: 'Mill Cloud', isOperator: true });
  const { publicKey } = newReadinessKey();
  await call(await operator.key('test'), 'POST', '/v2/ssh-public-keys', { name: 'laptop', publicKey });
  await insertFleet(stack.db, { nodes: 1, gpuType: 'h100', region: REGION });
  await insertFleet(stack.db, { nodes: 1, gpuType: 'h200', region: REGION });
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await stack?.[Symbol.asyncDispose]();
});

const asOperator = (path: string, work: (tab: TabSession) => Promise<void>) =>
  browser.withTab(
    { url: stack.apiUrl, session: withMode(operator.session, stack.apiUrl, operator.orgId, 'live') },
    async (tab) => {
      await tab.goto(path);
      await waitUntilLoaded(tab.page);
      await work(tab);
    },
  );

async function call(key: string, method: string, path: string, body?: object) {
  const response = await fetch(stack.apiUrl + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

/** Each device sets the first price, so those of other tests end. */
async function endPrices(): Promise<void> {
  const client = await stack.database.connect();
  await client.query(
    "update prices set valid_until = now() where valid_until is null and subject_kind = 'gpu'",
  );
  await client.end();
}

const firstPrices: Readonly<Record<InputDevice, { readonly gpu: string; readonly preset: string }>> = {
  mouse: { gpu: 'H100', preset: 'H100 at $2.49' },
  keyboard: { gpu: 'H200', preset: 'H200 at $3.29' },
};

test.each(inputDevices)(
  'an operator sets the first price and sees the offer in at most five actions with the %s',
  async (device) => {
    const { gpu, preset } = firstPrices[device];
    const offerIn = (page: Page) =>
      page.getByRole('link', { name: new RegExp(`^Rent 1 × ${gpu} in ${REGION}`) }).first();
    await endPrices();
    await asOperator('/operator', async ({ page }) => {
      const input = useInput(page, device);
      await input.press(page.getByRole('link', { name: 'Set price' }));
      const dialog = page.getByRole('dialog', { name: 'Set price' });
      await input.press(dialog.getByRole('button', { name: preset }));
      const view = dialog.getByRole('region', { name: 'Tenant view' });
      await expect.poll(() => view.innerText()).toContain(`${gpu} in ${REGION}`);
      expect(await view.innerText()).toMatch(/\d+ of \d+ GPUs available/);
      await expectAccessible(page);
      await input.send(
        [[dialog.getByRole('textbox', { name: 'Reason' }), 'First list price']],
        dialog.getByRole('button', { name: 'Set price' }),
      );
      await dialog.waitFor({ state: 'hidden' });
      await input.press(page.getByRole('link', { name: 'View in catalog' }));
      await offerIn(page).waitFor();
      expect(input.actions()).toBeLessThanOrEqual(5);
    });
    // Visitors see it too.
    await browser.withTab({ url: stack.apiUrl, expected: [signedOutError] }, async ({ page, goto }) => {
      await goto('/');
      await offerIn(page).waitFor();
    });
  },
);

test.each(inputDevices)(
  'model prices are entered and shown per million tokens with the %s',
  async (device) => {
    const model = `quiet-${device}`;
    const key = await operator.key('live');
    await call(key, 'POST', '/v2/admin/models', { name: model, modality: 'chat', ownedBy: 'mill' });
    await asOperator('/operator/prices', async ({ page }) => {
      const input = useInput(page, device);
      await input.press(page.getByRole('button', { name: 'Set price' }).first());
      const dialog = page.getByRole('dialog', { name: 'Set price' });
      await input.choose(dialog.getByRole('combobox', { name: 'Product' }), 'Model');
      const models = dialog.getByRole('combobox', { name: 'Model' });
      await models.getByRole('option', { name: model }).waitFor({ state: 'attached' });
      await input.choose(models, model);
      await input.press(dialog.getByRole('button', { name: 'Up to 10B parameters' }));
      const output = dialog.getByRole('textbox', { name: /^Output \(USD per million tokens\)/ });
      await input.fill(output, '0.6');
      const view = dialog.getByRole('region', { name: 'Tenant view' });
      await expect.poll(() => view.innerText()).toContain('$0.60 per million tokens output');
      await input.send(
        [[dialog.getByRole('textbox', { name: 'Reason' }), 'First model price']],
        dialog.getByRole('button', { name: 'Set price' }),
      );
      await dialog.waitFor({ state: 'hidden' });
      const row = page.getByRole('table', { name: 'Prices of models' }).getByRole('row', { name: model });
      await row.waitFor();
      const [, prompt, cached, completion] = await row.getByRole('cell').allInnerTexts();
      expect([prompt, cached, completion]).toEqual(['$0.05', '$0.025', '$0.60']);
      await expectAccessible(page);
    });
    const { items } = await call(key, 'GET', '/v2/admin/prices?limit=200');
    const saved = items.filter(({ subject }: { subject: { model?: string } }) => subject.model === model);
    expect(saved.map(({ unit }: { unit: string }) => unit)).toEqual(Array(3).fill('million_tokens'));
  },
);

/** Rents a mock machine and returns its node. */
async function rentMachine(name: string): Promise<string> {
  const [test, live] = [await operator.key('test'), await operator.key('live')];
  const { id } = await call(test, 'POST', '/v2/on-demand/virtual-machine-rentals', {
    region: MOCK_REGION,
    gpuType: 'h100',
    gpuCount: 1,
    name,
  });
  return eventually({ what: `rental ${name} to have a node`, timeoutMs: 300_000 }, async () => {
    const { items } = await call(live, 'GET', '/v2/admin/rentals?limit=200');
    const rental = items.find((each: { id: number }) => each.id === id);
    return rental?.nodeIds?.[0] as string | undefined;
  });
}

test.each(inputDevices)(
  'the node page links GPUs to their rental and shows announced maintenance with the %s',
  async (device) => {
    const name = `train-${device}`;
    const nodeId = await rentMachine(name);
    await asOperator(`/operator/nodes/${nodeId}`, async ({ page }) => {
      const input = useInput(page, device);
      const link = page
        .getByRole('table', { name: /^GPUs of / })
        .getByRole('link', { name })
        .first();
      await link.waitFor();
      const text = await page.getByRole('main').innerText();
      expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/);
      await input.press(link);
      await expect.poll(() => page.url()).toContain('#rental-');
      const rentals = page.getByRole('table', { name: 'Rentals and instances' });
      expect(await rentals.innerText()).toContain(name);
      const history = page.getByRole('list', { name: /^History of / });
      await history.getByRole('listitem').first().waitFor();
      await input.press(page.getByRole('button', { name: 'Announce maintenance' }));
      // A toast is a dialog too.
      const dialog = page.getByRole('dialog', { name: /^Announce maintenance of/ });
      await input.send(
        [[dialog.getByRole('textbox', { name: 'Message to tenants' }), `Fan of ${device}`]],
        dialog.getByRole('button', { name: 'Announce maintenance' }),
      );
      await dialog.waitFor({ state: 'hidden' });
      await page.getByText(`Maintenance announced: Fan of ${device}.`).waitFor();
      await expectAccessible(page);
    });
  },
);
