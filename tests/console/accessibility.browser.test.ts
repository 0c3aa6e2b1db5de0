import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadAxe, overflowOf, violationsOf } from './axe.ts';
import { desktopViewport, mobileViewport, openBrowser, viewports, type TestBrowser } from './browser.ts';
import type { ConsolePage } from './console-page.ts';
import { openConsoleStack, type ConsoleStack } from './console-stack.ts';
import { pageName, showPages } from './open-page.ts';
import { pages } from './pages.ts';
import { seedConsole, type Seeded } from './seed.ts';
import { payoutEnv } from './supplier-earnings.ts';

// Checks every page and dialog with axe, in light and dark mode, and its width on four screens.

/** Longer than the usual limit, because a test opens dozens of pages. */
const HANG_MS = 3_600_000;

const areas = Map.groupBy(pages, ({ route, who = 'owner', prepare }) => {
  if (who !== 'owner') return 'signed-out and new users';
  const [, area = ''] = /^\/(operator|supplier)\b/.exec(route) ?? [];
  return `${area === '' ? 'tenants' : `${area}s`}${prepare === undefined ? '' : ' with an open dialog'}`;
});
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

/** Findings of one page, one line each. */
async function checkPage(
  tab: Page,
  page: ConsolePage,
  open: () => Promise<void>,
): Promise<readonly string[]> {
  await open();
  await loadAxe(tab);
  const problems = [...(await violationsOf(tab, 'light')), ...(await violationsOf(tab, 'dark'))];
  for (const viewport of [...viewports, mobileViewport]) {
    if (page.opensPerWidth === true) {
      await tab.setViewportSize(viewport);
      await open();
    }
    problems.push(...(await overflowOf(tab, viewport)));
  }
  return problems;
}

test.each([...areas])(
  'pages of %s have no serious axe findings in light and dark mode and no horizontal scrolling on any screen',
  async (_, shown) => {
    const found: Record<string, readonly string[]> = {};
    await showPages(browser, { stack, seeded }, shown, async (tab, page, open) => {
      // A page that does not open is a finding too, so that the others are still checked.
      const problems = await checkPage(tab, page, open).catch((error: unknown) => [String(error)]);
      await tab.emulateMedia({ colorScheme: 'light' });
      await tab.setViewportSize(desktopViewport);
      if (problems.length > 0) found[pageName(page)] = problems;
    });
    expect(found).toEqual({});
  },
  HANG_MS,
);
