import { newReadinessKey } from '@millrace/compute/readiness';
import { startStopwatch, scaledLimitMs } from '@millrace/testing';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser, type TestBrowser, type TabSession } from './browser.ts';
import { openConsoleStack, type ConsoleStack } from './console-stack.ts';
import { withMode, createOwner, type Owner } from './accounts.ts';

// Error messages, each caused by a tag that docs/guides/console.md lists.

let stack: ConsoleStack;
let browser: TestBrowser;
let owner: Owner;
beforeAll(async () => {
  [stack, browser] = await Promise.all([openConsoleStack({ gateway: false }), openBrowser()]);
  owner = await createOwner(stack);
  await call('POST', '/v2/ssh-public-keys', { name: 'laptop', publicKey: newReadinessKey().publicKey });
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await stack?.[Symbol.asyncDispose]();
});

let key: string | null = null;
async function call(method: string, path: string, body: object): Promise<Response> {
  key ??= await owner.key('test');
  const response = await fetch(stack.apiUrl + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.ok, await response.clone().text()).toBe(true);
  return response;
}

function withTab<T>(work: (tab: TabSession) => Promise<T>, expected: readonly RegExp[] = []): Promise<T> {
  const session = withMode(owner.session, stack.apiUrl, owner.orgId, 'test');
  return browser.withTab({ url: stack.apiUrl, session, expected }, work);
}

/** Submits the rent form for one GPU with these tags. */
async function order({ page, goto }: TabSession, name: string, tags: readonly string[]): Promise<void> {
  await goto('/rent?gpu=h100&count=1');
  await page.getByLabel('Name', { exact: true }).fill(name);
  // Not with the mouse, which misses it if the page above changes its height at that moment.
  await page.getByText('Advanced: image, monitoring, idle rule, ports, tags, user data').press('Enter');
  await page.getByLabel('Tags').fill(tags.join('\n'));
  await page.getByRole('button', { name: 'Create machine' }).first().click();
}

const stateOf = (page: Page) => page.getByRole('region', { name: 'Status' });
const refusedOrder = /refused: POST \S+\/virtual-machine-rentals 40[02]/;

describe('creating a rental', () => {
  test('reports missing capacity, that nothing is charged, and what to do', async () => {
    await withTab(
      async (tab) => {
        await order(tab, 'full', ['millrace.fault=no-capacity']);
        const alert = tab.page.getByRole('alert').first();
        await alert.getByText('There is not enough free capacity for this request right now.').waitFor();
        await alert.getByText(/^req_/).waitFor();
        await tab.page.getByText('Nothing was created or charged.').first().waitFor();
        // The input is kept for another try.
        expect(await tab.page.getByLabel('Name', { exact: true }).inputValue()).toBe('full');
      },
      [refusedOrder],
    );
  });

  test('reports a missing balance and links to the top-up', async () => {
    await withTab(
      async (tab) => {
        await order(tab, 'poor', ['millrace.fault=no-balance']);
        const alert = tab.page.getByRole('alert').first();
        await alert
          .getByText('Your available balance does not cover the amount that this request would hold.')
          .waitFor();
        await tab.page.getByRole('link', { name: 'Top up' }).first().click();
        await tab.page.getByRole('heading', { level: 1, name: 'Balance' }).waitFor();
      },
      [refusedOrder],
    );
  });
});

// Each test waits for minutes, so they run concurrently.
describe.concurrent('rental failures', () => {
  test('a machine that does not boot is retried on another host, fails without cost, and says what to do', async () => {
    await withTab(async (tab) => {
      await order(tab, 'broken', ['millrace.fault=boot-fails']);
      const state = stateOf(tab.page);
      await state.getByText('You were not charged, and the held money was released.').waitFor();
      await tab.page.getByRole('link', { name: 'Back to the catalog' }).waitFor();
    });
  });

  test('a rental with a lost host is shown as Unknown with its billing, and as Running once the host responds', async () => {
    await withTab(async (tab) => {
      await order(tab, 'lost', [
        'millrace.fault=host-dies',
        'millrace.fault.after_ms=60000',
        'millrace.fault.for_ms=110000',
      ]);
      const state = stateOf(tab.page);
      await state.getByText('Running:').waitFor();
      await state.getByText('Unknown:').waitFor();
      await state.getByText(/The host has not responded since/).waitFor();
      await state.getByText(/Not billed since/).waitFor();
      await state.getByText('Running:').waitFor();
    });
  });

  test('a machine that cannot be deleted is not billed, rejects logins, and is shown as delayed', async () => {
    await withTab(async (tab) => {
      const { page } = tab;
      await order(tab, 'stuck', ['millrace.fault=stuck-terminate', 'millrace.fault.for_ms=30000']);
      const state = stateOf(page);
      await state.getByText('Running:').waitFor();
      await page.getByRole('button', { name: 'Terminate' }).click();
      await page.getByRole('alertdialog').getByRole('button', { name: 'Terminate' }).click();
      await state.getByText('Terminating:').waitFor();
      await state.getByText('Not billed: billing stopped when the termination was accepted.').waitFor();
      // Simulates a look at the page some minutes later.
      await page.clock.setFixedTime(Date.now() + 180_000);
      await state.getByText(/The machine has not been deleted yet, after 3 min/).waitFor();
      await state.getByText('Terminated:').waitFor();
    });
  });
});

test('a change by another client appears within two seconds without a reload', async () => {
  await withTab(async (tab) => {
    const { page } = tab;
    await order(tab, 'watched', ['team=research']);
    const state = stateOf(page);
    await state.getByText('Running:').waitFor();
    const id = Number(/\/rentals\/(\d+)/.exec(page.url())?.[1] ?? expect.fail(page.url()));
    const before = performance.now();
    await call('POST', '/v2/on-demand/virtual-machine-rentals/terminate', { rentalId: id, reason: 'done' });
    const answered = performance.now();
    const stopwatch = startStopwatch();
    await state.getByText(/Terminating:|Terminated:/).waitFor();
    const shownMs = await stopwatch.elapsedMs();
    expect(shownMs, `the call took ${Math.round(answered - before)} ms`).toBeLessThan(scaledLimitMs(2_000));
  });
});
