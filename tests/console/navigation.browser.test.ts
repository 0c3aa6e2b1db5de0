import { newReadinessKey } from '@millrace/compute/readiness';
import { eventually } from '@millrace/testing';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MOCK_REGION } from '../stack/mock-stack.ts';
import { createOwner, withMode, type Owner } from './accounts.ts';
import { openBrowser, type TabSession, type TestBrowser } from './browser.ts';
import { openConsoleStack, type ConsoleStack } from './console-stack.ts';
import { signedOutError, waitUntilLoaded } from './open-page.ts';

// Areas, command palette, keyboard shortcuts, live updates, tab title and notifications.

let stack: ConsoleStack;
let browser: TestBrowser;
let owner: Owner;
let key: string;
beforeAll(async () => {
  stack = await openConsoleStack({ gateway: false });
  [browser, owner] = await Promise.all([
    openBrowser(),
    createOwner(stack, { organisation: 'Quiet River Labs', isOperator: true, supplies: true }),
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
  return text === '' ? null : JSON.parse(text);
}

async function createRental(name: string, tags: Readonly<Record<string, string>> = {}): Promise<number> {
  const request = { region: MOCK_REGION, gpuType: 'h100', gpuCount: 1, name, tags };
  const { id } = await call('POST', '/v2/on-demand/virtual-machine-rentals', request);
  return id as number;
}

const inside = <T>(mode: 'live' | 'test', work: (tab: TabSession) => Promise<T>, width = 1280) =>
  browser.withTab(
    {
      url: stack.apiUrl,
      session: withMode(owner.session, stack.apiUrl, owner.orgId, mode),
      viewport: { width, height: 720 },
    },
    work,
  );

const areas = (page: Page): Locator => page.getByRole('navigation', { name: 'Areas' });
const pathOf = (page: Page): string => {
  const { pathname, search } = new URL(page.url());
  return pathname + search;
};
const waitForPath = (page: Page, path: string) => page.waitForURL(stack.apiUrl + path);

test('each area has its own entries, and the active one is marked and in view', async () => {
  await inside('live', async ({ page, goto, expect: allow }) => {
    // The organisation has not applied to be a supplier.
    allow(/refused: GET \S+\/v2\/supplier\/account 404/);
    await goto('/');
    await waitForPath(page, '/console/overview');
    for (const [area, path] of [
      ['Account', '/console/money'],
      ['Supplier', '/console/supplier'],
      ['Operator', '/console/operator'],
      ['Cloud', '/console/overview'],
    ] as const) {
      await areas(page).getByRole('link', { name: area }).click();
      await waitForPath(page, path);
      const entries = page.getByRole('navigation', { name: area, exact: true });
      await expect.poll(() => entries.locator('[aria-current=page]').count()).toBe(1);
      expect(await entries.getByRole('link').count()).toBeLessThanOrEqual(9);
    }
    await goto('/operator/maintenance');
    await waitUntilLoaded(page);
    const fleet = page.getByRole('navigation', { name: 'Operator' }).locator('[aria-current=page]');
    expect(await fleet.innerText()).toBe('Fleet');
  });
});

test('at 390 px the header names the active entry, and the menu switches areas', async () => {
  await inside(
    'live',
    async ({ page, goto }) => {
      await goto('/operator/auditor');
      await waitUntilLoaded(page);
      await page.getByText('Operator: Auditor').waitFor();
      await page.getByRole('button', { name: 'Open menu' }).click();
      const active = page.getByRole('navigation', { name: 'Operator' }).locator('[aria-current=page]');
      const box = (await active.boundingBox()) ?? expect.fail('The active entry is not shown.');
      expect(box.y + box.height).toBeLessThanOrEqual(720);
      await areas(page).getByRole('link', { name: 'Cloud' }).click();
      await waitForPath(page, '/console/overview');
      await page.getByRole('button', { name: 'Open menu' }).waitFor();
    },
    390,
  );
});

test('old links to the catalog, the fleet and supplier machines still work', async () => {
  await inside('live', async ({ page, goto, expect: allow }) => {
    allow(/refused: GET \S+\/v2\/supplier\/account 404/);
    for (const [from, to] of [
      ['/?gpu=h100', '/console/catalog?gpu=h100'],
      ['/operator?view=table', '/console/operator/fleet?view=table'],
      ['/supplier?tab=join', '/console/supplier/machines?tab=join'],
    ] as const) {
      await goto(from);
      await waitForPath(page, to);
    }
  });
});

test('after sign-in the page that required it opens at its own address', async () => {
  const expected = [signedOutError];
  await browser.withTab({ url: stack.apiUrl, expected }, async ({ page, goto }) => {
    await goto('/rentals?view=history');
    await page.getByLabel('Email').fill(owner.email);
    await page.getByLabel('Password').fill(owner.password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await waitForPath(page, '/console/rentals?view=history');
    await page.reload();
    await waitUntilLoaded(page);
    expect(pathOf(page)).toBe('/console/rentals?view=history');
  });
});

test('the palette finds a rental by id, and actions, with the keyboard alone', async () => {
  const id = await createRental('found-by-id');
  await inside('test', async ({ page, goto, expect: allow }) => {
    // A slow machine also looks up the first digits.
    allow(/refused: GET \S+\/v2\/on-demand\/rentals\/\d+ 404/);
    await goto('/overview');
    await waitUntilLoaded(page);
    const search = page.getByRole('combobox', { name: 'Search pages, actions and resources' });
    const type = async (text: string, option: string): Promise<void> => {
      await page.keyboard.press('Control+k');
      await search.waitFor();
      await page.keyboard.type(text);
      await page.getByRole('option', { name: option }).first().waitFor();
    };
    await type(String(id), 'found-by-id');
    await page.keyboard.press('Enter');
    await waitForPath(page, `/console/rentals/${String(id)}`);

    await type('create api', 'Create API key');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'New API key' }).waitFor();
    await page.keyboard.press('Escape');
    expect(page.url()).not.toContain('#create');

    await type('dark', 'Use dark theme');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('html').getAttribute('data-theme')).toBe('dark');
  });
});

test('shortcuts open pages, do nothing in fields, and can be turned off', async () => {
  await inside('test', async ({ page, goto }) => {
    await goto('/overview');
    await waitUntilLoaded(page);
    await page.keyboard.press('?');
    const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await list.getByText('Rent a machine').waitFor();
    await page.keyboard.press('Escape');
    await list.waitFor({ state: 'detached' });

    await page.keyboard.type('gk');
    await waitForPath(page, '/console/keys');
    await page.getByRole('button', { name: 'Create API key' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('');
    await page.keyboard.type('gr?n');
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('gr?n');
    expect(pathOf(page)).toBe('/console/keys');
    await page.keyboard.press('Escape');

    await goto('/account');
    await page.getByLabel('Keyboard shortcuts').uncheck();
    await page.getByRole('heading', { level: 1 }).click();
    await page.keyboard.type('gr?');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Search' }).waitFor();
    expect(pathOf(page)).toBe('/console/account');
    expect(await list.count()).toBe(0);
  });
});

/** Replaces the browser's notifications by a list, and pretends that the user looks at another window. */
const recordNotifications = `
  globalThis.asked = 0;
  globalThis.shown = [];
  document.hasFocus = () => false;
  globalThis.Notification = class extends EventTarget {
    static permission = 'default';
    static async requestPermission() {
      globalThis.asked += 1;
      return (this.permission = 'granted');
    }
    constructor(title, options) {
      super();
      globalThis.shown.push(title + ': ' + options.body);
    }
    close() {}
  };`;

test('a starting rental is shown in the title, and its state and a notification without a reload', async () => {
  await inside('test', async ({ page, goto, context }) => {
    await context.addInitScript({ content: recordNotifications });
    await goto('/account');
    await waitUntilLoaded(page);
    expect(await page.evaluate('globalThis.asked')).toBe(0);
    await page.getByLabel('Notify me when a machine is ready, fails or ends').check();
    await expect.poll(() => page.evaluate('globalThis.asked')).toBe(1);

    await areas(page).getByRole('link', { name: 'Cloud' }).click();
    await page.getByRole('link', { name: 'Rentals' }).click();
    await waitUntilLoaded(page);
    await createRental('slow', { 'millrace.fault': 'slow-boot', 'millrace.fault.after_ms': '20000' });
    await eventually({ what: 'progress in the title', timeoutMs: 300_000 }, async () =>
      /^Starting \d of \d · slow · Millrace$/.test(await page.title()),
    );
    const row = page.getByRole('row', { name: /slow/ });
    await row.getByText('Pending').waitFor();
    await row.getByText('Running').waitFor();
    await expect.poll(() => page.title()).toBe('Rentals · Millrace');
    const shown = 'slow is running: Test mode: You can log in now. Billing has started.';
    await expect.poll(() => page.evaluate('globalThis.shown')).toContain(shown);
  });
});
