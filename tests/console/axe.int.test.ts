import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { narrow, openBrowser, wide, type TestBrowser } from './browser.ts';
import { openConsoleStack, type ConsoleStack } from './console-stack.ts';
import { lookAt, nameOf, settled } from './look.ts';
import { pages } from './pages.ts';
import { seedConsole, type Seeded } from './seed.ts';

// Every page, with something on it, as people meet it who see little, use a keyboard, a phone, or the dark.

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

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

/** What axe finds serious or critical, each as a line. */
async function troublesOf(page: Page): Promise<readonly string[]> {
  // By the debugger, which the policy of the page does not concern.
  await page.evaluate(axe);
  const { violations } = await page.evaluate<AxeResults>('globalThis.axe.run(document)');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 300)}`));
}

describe.each(pages.map((page) => [nameOf(page), page] as const))('the page %s', (_, page) => {
  test('has nothing serious for axe in light and dark, and does not scroll sideways at 360 pixels', async () => {
    await lookAt(browser, { stack, seeded, page }, { viewport: wide }, async ({ page: tab }) => {
      expect(await troublesOf(tab), 'in light').toEqual([]);
      await tab.emulateMedia({ colorScheme: 'dark' });
      expect(await troublesOf(tab), 'in the dark').toEqual([]);
      await tab.setViewportSize(narrow);
      await settled(tab);
      const beyond = await tab.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(beyond, 'pixels beyond the right edge').toBe(0);
    });
  }, 60_000);
});
