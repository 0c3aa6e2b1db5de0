import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  mobileViewport,
  openBrowser,
  desktopViewport,
  type ColorScheme,
  type TestBrowser,
} from './browser.ts';
import { openConsoleStack, type ConsoleStack } from './console-stack.ts';
import { pagePath, pageName, openTab, waitUntilLoaded } from './open-page.ts';
import { pages, type ConsolePage } from './pages.ts';
import { seedConsole, type Seeded } from './seed.ts';

// Checks every page with axe, in light and dark mode, and on a narrow screen.

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Serious and critical findings of axe, one line each. In dark mode only colours are checked. */
async function violationsOf(page: Page, scheme: ColorScheme): Promise<readonly string[]> {
  await page.emulateMedia({ colorScheme: scheme });
  // Finish colour transitions, so that axe checks the final colours.
  await page.evaluate(`new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown))).then(() =>
    document.getAnimations().filter((each) => each instanceof CSSTransition).forEach((each) => each.finish()))`);
  const only = scheme === 'dark' ? ", { runOnly: ['color-contrast'] }" : '';
  const { violations } = await page.evaluate<AxeResults>(`globalThis.axe.run(document${only})`);
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, help, nodes }) =>
      nodes.map(({ html }) => `${scheme}: ${id}: ${help}: ${html.slice(0, 300)}`),
    );
}

async function pixelsBeyond(page: Page): Promise<readonly string[]> {
  await page.setViewportSize(mobileViewport);
  const beyond = await page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  await page.setViewportSize(desktopViewport);
  return beyond > 0 ? [`${String(beyond)} pixels beyond the right edge at 360`] : [];
}

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
          // Through the debugger, which the content security policy does not affect.
          await tab.evaluate(axe);
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
