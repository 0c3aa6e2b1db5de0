import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import type { ColorScheme } from './browser.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Viewport {
  readonly width: number;
  readonly height: number;
}

/** Loads axe through the debugger, which the content security policy does not affect. */
export async function loadAxe(page: Page): Promise<void> {
  await page.evaluate(axe);
}

/** Serious and critical findings of axe, one line each. In dark mode only colours are checked. */
export async function violationsOf(page: Page, scheme: ColorScheme): Promise<readonly string[]> {
  await page.emulateMedia({ colorScheme: scheme });
  await page.evaluate('new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown)))');
  const only = scheme === 'dark' ? ", { runOnly: ['color-contrast'] }" : '';
  const { violations } = await page.evaluate<AxeResults>(`globalThis.axe.run(document${only})`);
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, help, nodes }) =>
      nodes.map(({ html, any }) => `${scheme}: ${id}: ${any[0]?.message ?? help}: ${html.slice(0, 300)}`),
    );
}

/** Checks the page as it is now, in light and dark mode. */
export async function expectAccessible(page: Page): Promise<void> {
  await loadAxe(page);
  const light = await violationsOf(page, 'light');
  const dark = await violationsOf(page, 'dark');
  await page.emulateMedia({ colorScheme: 'light' });
  expect([...light, ...dark]).toEqual([]);
}

/** Parts of the page or of an open dialog that are wider than the screen, one line each. */
export async function overflowOf(page: Page, viewport: Viewport): Promise<readonly string[]> {
  await page.setViewportSize(viewport);
  // Charts take their new width in the next frame.
  const beyond = await page.evaluate<readonly string[]>(`new Promise((shown) =>
    requestAnimationFrame(() => requestAnimationFrame(shown))).then(() => {
      const parts = [...document.querySelectorAll('[role=dialog] *, [role=alertdialog] *')]
        .filter((part) => /auto|scroll/.test(getComputedStyle(part).overflowX) && !part.matches('code, pre'));
      return [document.documentElement, ...parts]
        .map((part) => [part.tagName === 'HTML' ? 'page' : 'dialog', part.scrollWidth - part.clientWidth])
        .filter(([, pixels]) => pixels > 0)
        .map(([name, pixels]) => pixels + ' pixels of the ' + name);
    })`);
  return beyond.map((what) => `${what} are beyond the right edge at ${String(viewport.width)} px`);
}
