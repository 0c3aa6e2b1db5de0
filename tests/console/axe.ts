import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { desktopViewport, mobileViewport, type ColorScheme } from './browser.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Loads axe through the debugger, which the content security policy does not affect. */
export async function loadAxe(page: Page): Promise<void> {
  await page.evaluate(axe);
}

/** Serious and critical findings of axe, one line each. In dark mode only colours are checked. */
export async function violationsOf(page: Page, scheme: ColorScheme): Promise<readonly string[]> {
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

export async function pixelsBeyond(page: Page): Promise<readonly string[]> {
  await page.setViewportSize(mobileViewport);
  const beyond = await page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  await page.setViewportSize(desktopViewport);
  return beyond > 0 ? [`${String(beyond)} pixels beyond the right edge at 360`] : [];
}
