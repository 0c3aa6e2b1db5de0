import type { Page, Request } from 'playwright-core';
import {
  desktopViewport,
  type ColorScheme,
  type StorageState,
  type TestBrowser,
  type TabSession,
} from './browser.ts';
import type { ConsoleStack } from './console-stack.ts';
import type { ConsolePage } from './console-page.ts';
import { withMode } from './accounts.ts';
import type { Seeded } from './seed.ts';

/** Expected 401 for users who are not signed in. */
export const signedOutError = /refused: GET \S+\/v2\/me\/organisations 401/;

interface SeededStack {
  readonly stack: ConsoleStack;
  readonly seeded: Seeded;
}

interface PageTarget extends SeededStack {
  readonly page: ConsolePage;
}

interface Appearance {
  readonly viewport: { readonly width: number; readonly height: number };
  readonly colorScheme?: ColorScheme;
}

/** Opens a tab as the user and mode of the page. */
export function openTab<T>(
  browser: TestBrowser,
  { stack, seeded, page }: PageTarget,
  look: Appearance,
  work: (tab: TabSession) => Promise<T>,
): Promise<T> {
  const session = sessionFor(stack, seeded, page);
  const who = session === null ? { expected: [signedOutError] } : { session };
  return browser.withTab({ url: stack.apiUrl, ...look, ...who }, work);
}

/** Shows pages in turn in one tab per user and mode, which is faster than a tab per page. `open` loads the page again. */
export async function showPages(
  browser: TestBrowser,
  { stack, seeded }: SeededStack,
  shown: readonly ConsolePage[],
  show: (tab: Page, page: ConsolePage, open: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const tabs = Map.groupBy(shown, ({ who = 'owner', mode = 'live' }) => `${who} ${mode}`);
  for (const [first, ...others] of tabs.values()) {
    if (first === undefined) continue;
    await openTab(browser, { stack, seeded, page: first }, { viewport: desktopViewport }, async (tab) => {
      const requests = trackRequests(tab.page);
      for (const page of [first, ...others]) {
        await show(tab.page, page, async () => {
          await tab.goto(pagePath(page, seeded));
          await waitUntilLoaded(tab.page);
          await requests.ended();
          await page.prepare?.(tab.page);
        });
      }
    });
  }
}

export function pagePath({ route, at }: ConsolePage, seeded: Seeded): string {
  return at?.(seeded) ?? route;
}

export function pageName({ route, as }: ConsolePage): string {
  return as ?? (route.replaceAll('$', '').replaceAll('/', '-').replace(/^-/, '') || 'home');
}

function sessionFor(
  stack: ConsoleStack,
  seeded: Seeded,
  { who = 'owner', mode = 'live' }: ConsolePage,
): StorageState | null {
  if (who === 'anyone') return null;
  if (who === 'newcomer') return seeded.newcomer.session;
  return withMode(seeded.owner.session, stack.apiUrl, seeded.owner.orgId, mode);
}

/** Waits for the heading and until no loading text is left. */
export async function waitUntilLoaded(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await page
    .getByText(/^Loading .*…$/)
    .first()
    .waitFor({ state: 'detached' });
}

/** Requests of a tab. Event feeds are left out, because they stay open. */
export function trackRequests(page: Page): { ended(): Promise<void> } {
  const open = new Set<Request>();
  page.on('request', (request) => {
    if (!/\/events(\?|$)/.test(request.url())) open.add(request);
  });
  page.on('requestfinished', (request) => open.delete(request));
  page.on('requestfailed', (request) => open.delete(request));
  const end = async (request: Request): Promise<void> => {
    const response = await request.response();
    await response?.finished();
  };
  return {
    /** Waits for the open requests and for those that their answers cause, but not for later polls. */
    ended: async () => {
      for (let round = 0; round < 3; round += 1) {
        await Promise.allSettled([...open].map(end));
        await page.evaluate(
          'new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown)))',
        );
      }
    },
  };
}
