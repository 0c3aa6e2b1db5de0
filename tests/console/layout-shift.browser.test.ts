import { afterAll, beforeAll, expect, test } from 'vitest';
import { desktopViewport, mobileViewport, openBrowser, type TestBrowser } from './browser.ts';
import { openConsoleStack, type ConsoleStack } from './console-stack.ts';
import { pageName, showPages } from './open-page.ts';
import { pages } from './pages.ts';
import { seedConsole, type Seeded } from './seed.ts';
import { payoutEnv } from './supplier-earnings.ts';

// Measures how far a page moves while it loads: the cumulative layout shift of web vitals.

const SHIFT_MAX = 0.05;
// Dialogs open without a load.
const measured = pages.filter(({ prepare }) => prepare === undefined);

/** Shifts since the navigation, each with the elements that moved, for the message of a failure. */
const readShifts = `new Promise((read) => {
  const shifts = [];
  const add = (entries) => {
    for (const { value, sources } of entries) {
      const moved = sources.map(({ node, previousRect, currentRect }) =>
        previousRect.y + ' to ' + currentRect.y + ': ' + (node?.outerHTML ?? node?.textContent ?? '').slice(0, 160));
      shifts.push({ value, moved });
    }
  };
  const observer = new PerformanceObserver((list) => add(list.getEntries()));
  observer.observe({ type: 'layout-shift', buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => {
    add(observer.takeRecords());
    read(shifts);
  })));
})`;

interface Shift {
  readonly value: number;
  readonly moved: readonly string[];
}

let stack: ConsoleStack;
let seeded: Seeded;
let browser: TestBrowser;
beforeAll(async () => {
  [stack, browser] = await Promise.all([openConsoleStack({ env: payoutEnv }), openBrowser()]);
  seeded = await seedConsole(stack);
});
afterAll(async () => {
  await seeded?.[Symbol.asyncDispose]();
  await browser?.[Symbol.asyncDispose]();
  await stack?.[Symbol.asyncDispose]();
});

test.each([
  ['1280', desktopViewport],
  ['360', mobileViewport],
] as const)(
  'main pages move by at most 0.05 while they load at %s px',
  async (_, viewport) => {
    const found: Record<string, readonly Shift[]> = {};
    const sums: Record<string, string> = {};
    await showPages(browser, { stack, seeded }, measured, async (tab, page, open) => {
      await tab.setViewportSize(viewport);
      // Without a cache, as at first: fonts and scripts arrive late.
      const debug = await tab.context().newCDPSession(tab);
      await debug.send('Network.setCacheDisabled', { cacheDisabled: true });
      await open();
      const shifts = await tab.evaluate<readonly Shift[]>(readShifts);
      const sum = shifts.reduce((total, { value }) => total + value, 0);
      if (sum > 0) sums[pageName(page)] = sum.toFixed(3);
      if (sum > SHIFT_MAX) found[pageName(page)] = shifts;
      await debug.detach();
    });
    process.stdout.write(`Layout shift by page: ${JSON.stringify(sums)}\n`);
    expect(found).toEqual({});
  },
  3_600_000,
);
