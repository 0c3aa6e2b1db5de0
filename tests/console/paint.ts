import { openBrowser } from './browser.ts';
import { openDemoStack } from './demo-stack.ts';
import { trackRequests, waitUntilLoaded } from './open-page.ts';
import { startStaticSite } from './static-site.ts';

/**
 * `npm run console:paint`: compares the largest contentful paint of the console, with the demo data, with that of a page whose
 * finished HTML loads the same files. Needs a quiet machine: the figures of a busy one vary by half.
 */

const ROUNDS = 9;
/** Longer than any page takes to paint. */
const SETTLE_MS = 1_500;

await using stack = await openDemoStack();
await using site = await startStaticSite();
await using browser = await openBrowser();
/** Of a user who returns: with storage, but no cache. */
const session = await browser.withTab({ url: stack.apiUrl, session: stack.session }, async (tab) => {
  const requests = trackRequests(tab.page);
  await tab.goto('/overview');
  await waitUntilLoaded(tab.page);
  await requests.ended();
  return tab.session();
});

interface Paint {
  readonly ms: number;
  readonly element: string;
  readonly html: string;
}

/** Milliseconds from the navigation to the largest paint, and the page as static HTML that loads the same files. */
const readPaint = `new Promise((read) => {
  const entries = [];
  const observer = new PerformanceObserver((list) => entries.push(...list.getEntries()));
  observer.observe({ type: 'largest-contentful-paint', buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => {
    const { startTime: ms, element } = entries.concat(observer.takeRecords()).at(-1);
    const scripts = performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname)
      .filter((name) => name.endsWith('.js'));
    const page = document.documentElement.cloneNode(true);
    for (const old of page.querySelectorAll('script, link[rel=modulepreload]')) old.remove();
    for (const href of new Set(scripts)) {
      const link = document.createElement('link');
      link.rel = 'modulepreload';
      link.setAttribute('href', href);
      page.querySelector('head').append(link);
    }
    read({ ms, element: element?.outerHTML.slice(0, 120) ?? '', html: '<!doctype html>' + page.outerHTML });
  })));
})`;

function paintOf(url: string, where: string): Promise<Paint> {
  return browser.withTab({ url, session, canIntercept: false }, async ({ page, goto }) => {
    await goto(where);
    // Not `waitUntilLoaded` at once: its polls run in the page and delay it.
    await page.waitForTimeout(SETTLE_MS);
    await waitUntilLoaded(page);
    return page.evaluate<Paint>(readPaint);
  });
}

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;

async function firstRental(): Promise<string> {
  return browser.withTab({ url: stack.apiUrl, session }, async ({ page, goto }) => {
    await goto('/rentals');
    const link = page.getByRole('table', { name: 'Active rentals' }).getByRole('link').first();
    return ((await link.getAttribute('href')) ?? '').replace(/^\/console/, '');
  });
}

const pages = { catalog: '/catalog', overview: '/overview', rental: await firstRental() };
for (const [name, where] of Object.entries(pages)) {
  const { html } = await paintOf(stack.apiUrl, where);
  await site.add(name, html);
  const shown: number[] = [];
  const still: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    shown.push((await paintOf(stack.apiUrl, where)).ms);
    still.push((await paintOf(site.url, `/${name}`)).ms);
  }
  const [consoleMs, staticMs] = [median(shown), median(still)];
  process.stdout.write(
    `${name}: ${String(Math.round(consoleMs))} ms, static ${String(Math.round(staticMs))} ms, ratio ${(consoleMs / staticMs).toFixed(2)}\n`,
  );
}
