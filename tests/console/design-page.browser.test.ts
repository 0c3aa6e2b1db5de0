import path from 'node:path';
import type { Page } from 'playwright-core';
import { createServer, type ViteDevServer } from 'vite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadAxe, overflowOf, violationsOf } from './axe.ts';
import { mobileViewport, openBrowser, type TestBrowser } from './browser.ts';

// The page of all tokens and components, which only the development server has.

const configFile = path.join(import.meta.dirname, '..', '..', 'apps', 'console', 'vite.config.ts');
let server: ViteDevServer;
let browser: TestBrowser;
beforeAll(async () => {
  server = await createServer({ configFile, logLevel: 'error', server: { port: 0, host: '127.0.0.1' } });
  [browser] = await Promise.all([openBrowser(), server.listen()]);
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await server.close();
});

function withDesignPage<T>(work: (page: Page) => Promise<T>): Promise<T> {
  const url = server.resolvedUrls?.local[0] ?? '';
  return browser.withTab({ url: new URL(url).origin }, async ({ page, goto }) => {
    await goto('/design');
    await page.getByRole('slider', { name: 'Daily spending' }).waitFor({ state: 'attached' });
    return work(page);
  });
}

test('the design page has no serious axe findings in both themes and fits a narrow screen', async () => {
  const found = await withDesignPage(async (page) => {
    await loadAxe(page);
    return [
      ...(await violationsOf(page, 'light')),
      ...(await violationsOf(page, 'dark')),
      ...(await overflowOf(page, mobileViewport)),
    ];
  });
  expect(found).toEqual([]);
});

test('a chart is read and zoomed by keyboard, by drag and by button', async () => {
  await withDesignPage(async (page) => {
    const chart = page.getByRole('figure').filter({ hasText: 'GPU utilisation as table' });
    const slider = chart.getByRole('slider');
    const reset = chart.getByRole('button', { name: 'Reset zoom' });
    await slider.focus();
    const atEnd = await slider.getAttribute('aria-valuetext');
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => slider.getAttribute('aria-valuetext')).not.toBe(atEnd);
    expect(await slider.getAttribute('aria-valuetext')).toMatch(
      /2026, \d\d:\d\d: GPU 0 \d+\.\d %, GPU 1 \d+\.\d %/,
    );
    const samples = Number(await slider.getAttribute('max'));
    await page.keyboard.press('+');
    await reset.waitFor();
    expect(Number(await slider.getAttribute('min'))).toBeGreaterThan(samples * 0.4);
    await page.keyboard.press('0');
    await reset.waitFor({ state: 'detached' });

    const box = await chart.locator('.u-over').boundingBox();
    if (box === null) throw new Error('The chart is not visible.');
    const y = box.y + box.height * 0.5;
    await page.mouse.move(box.x + box.width * 0.25, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.75, y, { steps: 5 });
    await page.mouse.up();
    await reset.waitFor();
    await page.mouse.dblclick(box.x + box.width * 0.5, y);
    await reset.waitFor({ state: 'detached' });

    await chart.getByRole('button', { name: 'Zoom in: GPU utilisation' }).click();
    await reset.click();
    await reset.waitFor({ state: 'detached' });
  });
});

test('a rounded amount shows the exact one on keyboard focus', async () => {
  await withDesignPage(async (page) => {
    const figure = page.getByText('$248.75', { exact: true });
    const trigger = page.locator('[tabindex="0"]').filter({ has: figure });
    await trigger.focus();
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Tab');
    await page.locator('[data-open]').getByText('Exactly $248.749999999').waitFor();
  });
});

test.each([
  ['lines', 'GPU utilisation'],
  ['bars', 'Daily spending'],
])('%s are drawn in the colours of the new theme when the theme changes', async (_, chart) => {
  await withDesignPage(async (page) => {
    const countPixels = (colour: string) =>
      page.evaluate<number>(`(() => {
        const figures = [...document.querySelectorAll('figure')];
        const canvas = figures.find((each) => each.textContent.includes('${chart} as table'))?.querySelector('canvas');
        if (!canvas) return 0;
        const copy = document.createElement('canvas');
        Object.assign(copy, { width: canvas.width, height: canvas.height });
        const context = copy.getContext('2d', { willReadFrequently: true });
        context.drawImage(canvas, 0, 0);
        const { data } = context.getImageData(0, 0, copy.width, copy.height);
        let count = 0;
        for (let at = 0; at < data.length; at += 4) {
          if (\`\${data[at]} \${data[at + 1]} \${data[at + 2]} \${data[at + 3]}\` === '${colour} 255') count += 1;
        }
        return count;
      })()`);
    // The first series in light and dark.
    await expect.poll(() => countPixels('15 118 110')).toBeGreaterThan(100);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(() => countPixels('45 212 191')).toBeGreaterThan(100);
    expect(await countPixels('15 118 110')).toBe(0);
  });
});

test('figures have equal widths in the bundled font', async () => {
  await withDesignPage(async (page) => {
    expect(await page.evaluate<boolean>(`document.fonts.check('14px "Inter Variable"')`)).toBe(true);
    const widths = await page.evaluate<number[]>(`['1111', '8888', '0000'].map((text) => {
      const probe = document.body.appendChild(document.createElement('span'));
      probe.textContent = text;
      probe.className = 'tabular-nums';
      const { width } = probe.getBoundingClientRect();
      probe.remove();
      return width;
    })`);
    expect(new Set(widths).size).toBe(1);
  });
});

test('nothing moves for users who prefer reduced motion', async () => {
  const endless = await withDesignPage((page) =>
    page.evaluate<number>(
      'document.getAnimations().filter((each) => each.effect.getTiming().iterations === Infinity).length',
    ),
  );
  expect(endless).toBe(0);
});
