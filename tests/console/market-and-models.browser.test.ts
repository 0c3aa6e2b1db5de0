import { newReadinessKey } from '@millrace/compute/readiness';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MOCK_MODEL } from '../stack/mock-stack.ts';
import { openBrowser, type TestBrowser, type TabSession } from './browser.ts';
import { openConsoleStack, type ConsoleStack } from './console-stack.ts';
import { signedOutError } from './open-page.ts';
import { withMode, createOwner, type Owner } from './accounts.ts';

// Models and the marketplace; the playground calls a real gateway from a real browser, cross-origin.

let stack: ConsoleStack;
let browser: TestBrowser;
let owner: Owner;
let key: string;
beforeAll(async () => {
  stack = await openConsoleStack();
  [browser, owner] = await Promise.all([
    openBrowser(),
    createOwner(stack, { organisation: 'Quiet River Labs' }),
  ]);
  key = await owner.key('test');
  await call('POST', '/v2/ssh-public-keys', { name: 'laptop', publicKey: newReadinessKey().publicKey });
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await stack?.[Symbol.asyncDispose]();
});

// oxlint-disable-next-line typescript/no-explicit-any -- a test reads fields of an answer that it depends on
async function call(method: string, path: string, body?: object): Promise<any> {
  const response = await fetch(stack.apiUrl + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${String(response.status)} ${text}`);
  return JSON.parse(text);
}

/** The console asks for a request until it is recorded, about a second after its end. */
const notRecordedYet = /\/v2\/usage\/requests\/req_\w+ 404$/;

const inTestMode = <T>(work: (tab: TabSession) => Promise<T>): Promise<T> =>
  browser.withTab(
    {
      url: stack.apiUrl,
      session: withMode(owner.session, stack.apiUrl, owner.orgId, 'test'),
      expected: [notRecordedYet],
    },
    work,
  );

async function send(page: Page, question: string): Promise<Locator> {
  await page.getByRole('textbox', { name: 'Your message' }).fill(question);
  await page.keyboard.press('Enter');
  const answered = page.getByRole('article', { name: `You: ${question}` });
  await answered.getByRole('button', { name: 'Regenerate' }).waitFor();
  return answered;
}

/** Exact amount in nano-USD. */
async function nanoIn(place: Locator): Promise<bigint> {
  const value = await place.locator('data').first().getAttribute('value');
  return BigInt(value ?? expect.fail('No amount found.'));
}

interface ListedKey {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expiresAt: string;
  readonly createdAt: string;
}

test('the playground answers with a one-hour key that is created once, kept for the tab and never shown', () =>
  inTestMode(async ({ page, goto }) => {
    await goto(`/playground?model=${MOCK_MODEL}`);
    const first = await send(page, 'Tell me of the mill.');
    expect(await first.innerText()).toMatch(/Input tokens\s+\d+\s+Output tokens\s+\d+\s+Cost\s+\$0\.00/);
    await goto(`/playground?model=${MOCK_MODEL}`);
    await send(page, 'Tell me of the mill.');
    await send(page, 'And of the river?');
    const { items } = (await call('GET', '/v2/api-keys')) as { readonly items: readonly ListedKey[] };
    const [made, ...more] = items.filter(({ name }) => name === 'Playground');
    expect(more).toEqual([]);
    expect(made?.scopes.toSorted()).toEqual(['inference:read', 'inference:write']);
    const lastsMs = Date.parse(made?.expiresAt ?? '') - Date.parse(made?.createdAt ?? '');
    expect(Math.abs(lastsMs - 3_600_000)).toBeLessThan(60_000);
    const stored = await page.evaluate('JSON.stringify([{ ...localStorage }, document.cookie])');
    expect(stored).not.toContain('mr_test_');
    await page.getByRole('button', { name: 'View code' }).click();
    for (const language of ['curl', 'Python', 'JavaScript', 'CLI']) {
      await page.getByRole('tab', { name: language }).click();
      const code = await page.getByRole('region', { name: `${language} code` }).innerText();
      expect(code).toContain(MOCK_MODEL);
      expect(code).not.toContain('mr_test_');
    }
    await page.keyboard.press('Escape');
    // The earlier messages are sent along, and the request can be looked up.
    await page.getByRole('link', { name: 'Request details' }).last().click();
    await page.getByRole('table', { name: 'Attempts' }).waitFor();
    await page.getByText(/\d+ input \(0 cached\), \d+ output/).waitFor();
  }));

test('models and prices are public, and trying a model requires sign-in', () =>
  browser.withTab({ url: stack.apiUrl, expected: [signedOutError] }, async ({ page, goto }) => {
    await goto('/models');
    await page.getByRole('table', { name: 'Models and prices' }).waitFor();
    await page.getByRole('link', { name: `Try it: ${MOCK_MODEL}` }).click();
    await page.getByRole('heading', { level: 1, name: /Sign in/ }).waitFor();
    expect(page.url()).toContain(encodeURIComponent(MOCK_MODEL));
  }));

test('a marketplace machine is found, rented at the listed price, terminated, and has a receipt', () =>
  inTestMode(async ({ page, goto }) => {
    await goto('/marketplace');
    await page.getByRole('checkbox', { name: /H200/ }).check();
    await page.waitForURL(/gpu=/);
    const machines = page.getByRole('table', { name: /^Machines with .*H200/ });
    await page
      .getByRole('table', { name: /^Machines with/ })
      .nth(1)
      .waitFor({ state: 'detached' });
    await page.getByText(/each, unverified · \d+ machines?$/).waitFor();
    const row = machines.getByRole('row').nth(1);
    const listed = await nanoIn(row);
    await row.getByRole('link', { name: /^Rent/ }).first().click();
    await page.getByRole('heading', { level: 1, name: /^Rent .*H200.* \(unverified\)$/ }).waitFor();
    await page.getByText(/^\d+ × .*H200.* \(unverified\)$/).waitFor();
    await page.getByRole('spinbutton', { name: 'GPUs' }).fill('2');
    // Test mode is free and shows the listed price as the live one.
    expect(await nanoIn(page.getByRole('strong'))).toBe(0n);
    await page.locator(`data[value="${String(listed * 2n)}"]`).waitFor();
    await page.getByRole('button', { name: 'Rent GPUs' }).click();
    await page.getByRole('region', { name: 'SSH command' }).waitFor();
    const name = await page.getByRole('heading', { level: 1 }).innerText();
    expect(await call('GET', `/v2/marketplace/instances/${name}`)).toMatchObject({
      status: 'online',
      gpuCount: 2,
      gpuVerification: 'unverified',
      costPerHourNanoUsd: '0',
      liveCostPerHourNanoUsd: String(listed * 2n),
    });
    await page.getByRole('button', { name: 'Terminate' }).click();
    const dialog = page.getByRole('alertdialog');
    await dialog.getByLabel(`Type ${name} to confirm`).fill(name);
    await dialog.getByRole('button', { name: 'Terminate' }).click();
    await page.getByRole('heading', { level: 2, name: 'Receipt' }).waitFor();
    await expect.poll(() => page.getByText('terminated', { exact: true }).count()).toBe(1);
    await goto('/instances?view=history');
    await page.getByRole('link', { name }).waitFor();
  }));
