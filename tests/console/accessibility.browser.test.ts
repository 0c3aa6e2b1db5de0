import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadAxe, overflowOf, violationsOf } from './axe.ts';
import { desktopViewport, mobileViewport, openBrowser, viewports, type TestBrowser } from './browser.ts';
import { openConsoleStack, type ConsoleStack } from './console-stack.ts';
import { pageName, showPages } from './open-page.ts';
import { pages } from './pages.ts';
import { seedConsole, type Seeded } from './seed.ts';

// Checks every page and dialog with axe, in light and dark mode, and its width on four screens.

const areas = Map.groupBy(pages, ({ route, who = 'owner', prepare }) => {
  if (who !== 'owner') return 'signed-out and new users';
  const [, area = ''] = /^\/(operator|supplier)\b/.exec(route) ?? [];
  return `${area === '' ? 'tenants' : `${area}s`}${prepare === undefined ? '' : ' with an open dialog'}`;
});
let stack: ConsoleStack;
let seeded: Seeded;
let browser: TestBrowser;
beforeAll(async () => {
  [stack, browser] = await Promise.all([openConsoleStack(), openBrowser()]);
  seeded = await seedConsole(stack);
}, 500_000);
afterAll(async () => {
  await seeded?.[Symbol.asyncDispose]();
  await browser?.[Symbol.asyncDispose]();
  await stack?.[Symbol.asyncDispose]();
}, 60_000);
test.each([...areas])(
  'pages of %s have no serious axe findings in light and dark mode and no horizontal scrolling on any screen',
  async (_, shown) => {
    const found: Record<string, readonly string[]> = {};
    await showPages(browser, { stack, seeded }, shown, async (tab, page, open) => {
      await open();
      await loadAxe(tab);
      const light = await violationsOf(tab, 'light');
      let dark = await violationsOf(tab, 'dark');
      if (dark.length > 0) {
        // Browsers do not repaint all inherited colours when the scheme changes, so open the page again.
        await open();
        await loadAxe(tab);
        dark = await violationsOf(tab, 'dark');
      }
      const problems = [...light, ...dark];
      for (const viewport of [...viewports, mobileViewport])
        problems.push(...(await overflowOf(tab, viewport)));
      await tab.emulateMedia({ colorScheme: 'light' });
      await tab.setViewportSize(desktopViewport);
      if (problems.length > 0) found[pageName(page)] = problems;
    });
    expect(found).toEqual({});
  },
  1_200_000,
);
