import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { ensureTemplate } from '@millrace/testing';
import { mobileViewport, openBrowser, desktopViewport } from './browser.ts';
import { openConsoleStack } from './console-stack.ts';
import { openPage, pageName } from './open-page.ts';
import { pages } from './pages.ts';
import { seedConsole } from './seed.ts';

/** `npm run console:shots [-- PART…]`: screenshots of all pages, or of those whose route contains a PART. */

const folder = path.join(import.meta.dirname, '..', '..', '.millrace', 'console-shots');
const filters = process.argv.slice(2);
const wanted = pages.filter(({ route, as = '' }) => {
  return filters.length === 0 || filters.some((part) => route.includes(part) || as.includes(part));
});

if (filters.length === 0) rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
await ensureTemplate();
await using stack = await openConsoleStack();
await using seeded = await seedConsole(stack);
await using browser = await openBrowser();
let failed = 0;
for (const page of wanted) {
  for (const [width, viewport] of [['1280', desktopViewport] as const, ['360', mobileViewport] as const]) {
    const file = (scheme: string): string => path.join(folder, `${pageName(page)}-${scheme}-${width}.png`);
    try {
      await openPage(browser, { stack, seeded, page }, { viewport }, async ({ page: tab }) => {
        await tab.screenshot({ path: file('light'), fullPage: true });
        await tab.emulateMedia({ colorScheme: 'dark' });
        await tab.screenshot({ path: file('dark'), fullPage: true });
      });
    } catch (error) {
      failed += 1;
      process.stderr.write(
        `${pageName(page)} at ${width}: ${error instanceof Error ? error.message : String(error)}\n`,
      );
    }
  }
  process.stdout.write(`${pageName(page)}\n`);
}
process.stdout.write(`Screenshots of ${String(wanted.length)} pages are in ${folder}.\n`);
process.exitCode = failed === 0 ? 0 : 1;
