import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { ensureTemplate } from '@millrace/testing';
import { overflowOf } from './axe.ts';
import { desktopViewport, openBrowser, viewports } from './browser.ts';
import { openConsoleStack } from './console-stack.ts';
import { pageName, showPages } from './open-page.ts';
import { pages } from './pages.ts';
import { seedConsole } from './seed.ts';
import { payoutEnv } from './supplier-earnings.ts';

/**
 * `npm run console:shots [-- PART…]`: screenshots of all pages and dialogs, or of those whose name contains a PART, in light and dark
 * mode on three screens. Fails if a page cannot be opened or is wider than a screen.
 */

const folder = path.join(import.meta.dirname, '..', '..', '.millrace', 'console-shots');
const filters = process.argv.slice(2);
const wanted = pages.filter((page) => {
  const names = [page.route, pageName(page)];
  return filters.length === 0 || filters.some((part) => names.some((name) => name.includes(part)));
});

if (filters.length === 0) rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
await ensureTemplate();
await using stack = await openConsoleStack({ env: payoutEnv });
await using seeded = await seedConsole(stack);
await using browser = await openBrowser();
let taken = 0;
await showPages(browser, { stack, seeded }, wanted, async (tab, page, open) => {
  const name = pageName(page);
  const problems: string[] = [];
  try {
    await open();
    for (const viewport of viewports) {
      if (page.opensPerWidth === true) {
        await tab.setViewportSize(viewport);
        await open();
      }
      for (const colorScheme of ['light', 'dark'] as const) {
        await tab.emulateMedia({ colorScheme });
        const overflow = await overflowOf(tab, viewport);
        if (colorScheme === 'light') problems.push(...overflow);
        const file = `${name}-${colorScheme}-${String(viewport.width)}.png`;
        await tab.screenshot({ path: path.join(folder, file), fullPage: page.prepare === undefined });
        taken += 1;
      }
    }
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
  await tab.setViewportSize(desktopViewport);
  process.stdout.write(`${[name, ...problems].join('\n  ')}\n`);
  if (problems.length > 0) process.exitCode = 1;
});
process.stdout.write(
  `${String(taken)} screenshots of ${String(wanted.length)} pages and dialogs are in ${folder}.\n`,
);
