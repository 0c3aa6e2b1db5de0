import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadAxe, pixelsBeyond, violationsOf } from './axe.ts';
import { desktopViewport, openBrowser, type TestBrowser } from './browser.ts';
import { openConsoleStack, type ConsoleStack } from './console-stack.ts';
import { pagePath, pageName, openTab, waitUntilLoaded } from './open-page.ts';
import { pages, type ConsolePage } from './pages.ts';
import { seedConsole, type Seeded } from './seed.ts';

// Checks every page with axe, in light and dark mode, and on a narrow screen.

// One tab per user and mode shows its pages in turn.
const tabs = Map.groupBy(pages, ({ who = 'owner', mode = 'live' }) => `${who} in ${mode} mode`);
let stack: ConsoleStack;
let seeded: Seeded;
let browser: TestBrowser;
beforeAll(async () => {
  [stack, browser] = await Promise.all([openConsoleStack(), openBrowser()]);
  seeded = await seedConsole(stack);
}, 240_000);
afterAll(async () => {
  await seeded?.[Symbol.asyncDispose]();
  await browser[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
}, 60_000);
test.each([...tabs])(
  'pages of %s have no serious axe findings in light and dark mode and no horizontal scrolling at 360 px',
  async (_, shown) => {
    const found: Record<string, readonly string[]> = {};
    const [first] = shown;
    if (first === undefined) return;
    await openTab(
      browser,
      { stack, seeded, page: first },
      { viewport: desktopViewport },
      async ({ page: tab, goto }) => {
        const open = async (page: ConsolePage): Promise<void> => {
          await goto(pagePath(page, seeded));
          await waitUntilLoaded(tab);
          await page.prepare?.(tab);
          await loadAxe(tab);
        };
        for (const page of shown) {
          await open(page);
          const light = await violationsOf(tab, 'light');
          let dark = await violationsOf(tab, 'dark');
          if (dark.length > 0) {
            // Browsers do not repaint all inherited colours when the scheme changes, so open the page again.
            await open(page);
            dark = await violationsOf(tab, 'dark');
          }
          const problems = [...light, ...dark, ...(await pixelsBeyond(tab))];
          await tab.emulateMedia({ colorScheme: 'light' });
          if (problems.length > 0) found[pageName(page)] = problems;
        }
      },
    );
    expect(found).toEqual({});
  },
  600_000,
);
