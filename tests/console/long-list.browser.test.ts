import { insertFleet, insertRentals } from '@millrace/testing';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOwner, withMode, type Owner } from './accounts.ts';
import { desktopViewport, openBrowser, type TestBrowser } from './browser.ts';
import { openConsoleStack, type ConsoleStack } from './console-stack.ts';
import { waitUntilLoaded } from './open-page.ts';

const RENTALS = 10_000;
const BATCH = 1_000;
/** Rows that the page keeps: five pages of 100. */
const ROWS_MAX = 500;
const STEPS = 40;
const WHEEL_PX = 400;
/** How much later than on a bare page input may be handled. Far above the measured 100 ms, because tests share two cores. */
const LATER_MS = 1_000;

let stack: ConsoleStack;
let browser: TestBrowser;
let owner: Owner;
beforeAll(async () => {
  [stack, browser] = await Promise.all([openConsoleStack({ gateway: false }), openBrowser()]);
  owner = await createOwner(stack, { organisation: 'Quiet River Labs' });
  const { clusterId, nodeIds } = await insertFleet(stack.db, { nodes: 4, mode: 'test' });
  const { orgId, userId } = owner;
  // In batches, because one statement for all of them can exceed the timeout on a busy machine.
  for (let inserted = 0; inserted < RENTALS; inserted += BATCH) {
    await insertRentals(stack.db, {
      orgId,
      userId,
      clusterId,
      nodeIds,
      live: BATCH,
      mode: 'test',
      brief: true,
    });
  }
}, 600_000);
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await stack?.[Symbol.asyncDispose]();
}, 60_000);

/** Counts what arrives, and how long after the browser received it. Wheel events may be merged, so their distance is summed up. */
const listen = `
  globalThis.input = { wheelPx: 0, keys: 0, longestDelayMs: 0 };
  const late = (event) => { input.longestDelayMs = Math.max(input.longestDelayMs, performance.now() - event.timeStamp); };
  addEventListener('wheel', (event) => { input.wheelPx += Math.abs(event.deltaY); late(event); }, { passive: true });
  addEventListener('keydown', (event) => { input.keys += 1; late(event); });`;

interface Handled {
  readonly wheelPx: number;
  readonly keys: number;
  readonly longestDelayMs: number;
}

/** Scrolls down and up while it presses keys. */
async function scrollAndType(page: Page, keys: readonly string[]): Promise<Handled> {
  await page.mouse.move(640, 600);
  await page.evaluate(listen);
  for (let step = 0; step < STEPS; step += 1) {
    const sent = [page.mouse.wheel(0, step < STEPS / 2 ? WHEEL_PX : -WHEEL_PX)];
    const key = keys[(step / 4) % keys.length];
    if (key !== undefined && step % 4 === 0) sent.push(page.keyboard.press(key));
    await Promise.all(sent);
  }
  await expect
    .poll(() => page.evaluate<Handled>('input'), { message: 'input that was handled' })
    .toMatchObject({ wheelPx: STEPS * WHEEL_PX, keys: STEPS / 4 });
  return page.evaluate<Handled>('input');
}

test('a list of 10 000 rentals handles all input while it scrolls and its filter changes', async () => {
  const session = withMode(owner.session, stack.apiUrl, owner.orgId, 'test');
  const tab = { url: stack.apiUrl, viewport: desktopViewport, session };
  const bare = await browser.withTab(tab, async ({ page }) => {
    await page.setContent('<div style="height: 100000px"><input aria-label="Filter" autofocus></div>');
    await page.getByLabel('Filter').focus();
    return scrollAndType(page, ['a', 'r']);
  });
  await browser.withTab(tab, async ({ page, goto }) => {
    await goto('/rentals');
    await waitUntilLoaded(page);
    const table = page.getByRole('table', { name: 'Active rentals' });
    // Without roles, because computing those of 500 rows takes seconds.
    const rows = (): Promise<number> =>
      table.evaluate((element) => element.querySelectorAll('tbody tr').length);
    const firstRow = (): Promise<string | null> =>
      table.evaluate((element) => element.querySelector('tbody tr')?.textContent ?? null);
    await expect.poll(rows).toBe(100);
    for (let shown = 200; shown <= ROWS_MAX; shown += 100) {
      await page.getByRole('button', { name: 'Show more' }).click();
      await expect.poll(rows).toBe(shown);
    }
    const before = await firstRow();
    await page.getByRole('button', { name: 'Show more' }).click();
    // The first page leaves when the sixth arrives.
    await expect.poll(firstRow).not.toBe(before);
    expect(await rows()).toBe(ROWS_MAX);
    await page.getByLabel('Status').focus();
    // The first letters of "Running" and "All statuses".
    const handled = await scrollAndType(page, ['r', 'a']);
    process.stdout.write(
      `Longest delay of input: ${String(Math.round(handled.longestDelayMs))} ms, on a bare page ${String(Math.round(bare.longestDelayMs))} ms\n`,
    );
    expect(handled.longestDelayMs - bare.longestDelayMs).toBeLessThan(LATER_MS);
    expect(await rows()).toBeLessThanOrEqual(ROWS_MAX);
  });
}, 600_000);
