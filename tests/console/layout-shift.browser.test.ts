import { afterAll, beforeAll, expect, test } from 'vitest';
import { desktopViewport, mobileViewport, openBrowser, type TestBrowser } from './browser.ts';
import { openConsoleStack, type ConsoleStack } from './console-stack.ts';
import { openTab, pageName, pagePath, waitUntilLoaded } from './open-page.ts';
import { pages } from './pages.ts';
import { seedConsole, type Seeded } from './seed.ts';

// Measures how far a page moves while it loads: the cumulative layout shift of web vitals.

const SHIFT_MAX = 0.05;
const measured = ['catalog', 'overview', 'rentals', 'rental-running', 'rental-metrics', 'usage', 'keys'];

/** Stores the sum and the elements that moved most, for the message of a failure. */
const observer = `
  globalThis.shifts = [];
  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries()) {
      const moved = sources.map(({ node }) => (node?.outerHTML ?? '').slice(0, 160));
      globalThis.shifts.push({ value, moved });
    }
  }).observe({ type: 'layout-shift', buffered: true });`;

interface Shift {
  readonly value: number;
  readonly moved: readonly string[];
}

let stack: ConsoleStack;
let seeded: Seeded;
let browser: TestBrowser;
beforeAll(async () => {
  [stack, browser] = await Promise.all([openConsoleStack(), openBrowser()]);
  seeded = await seedConsole(stack);
}, 500_000);
afterAll(async () => {
  await seeded?.[Symbol.asyncDispose]();
  await browser[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
}, 60_000);

test.each([
  ['1280', desktopViewport],
  ['360', mobileViewport],
] as const)(
  'main pages move by at most 0.05 while they load at %s px',
  async (_, viewport) => {
    const found: Record<string, readonly Shift[]> = {};
    for (const page of pages.filter((each) => measured.includes(pageName(each)))) {
      await openTab(browser, { stack, seeded, page }, { viewport }, async ({ page: tab, goto }) => {
        await tab.addInitScript(observer);
        await goto(pagePath(page, seeded));
        await waitUntilLoaded(tab);
        await tab.waitForLoadState('networkidle');
        const shifts = await tab.evaluate<readonly Shift[]>('globalThis.shifts');
        const sum = shifts.reduce((total, { value }) => total + value, 0);
        process.stdout.write(`${pageName(page)}: layout shift ${sum.toFixed(3)}\n`);
        if (sum > SHIFT_MAX) found[pageName(page)] = shifts;
      });
    }
    expect(found).toEqual({});
  },
  600_000,
);
