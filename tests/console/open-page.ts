import type { Page } from 'playwright-core';
import type { ColorScheme, StorageState, TestBrowser, TabSession } from './browser.ts';
import type { ConsoleStack } from './console-stack.ts';
import type { ConsolePage } from './pages.ts';
import { withMode } from './accounts.ts';
import type { Seeded } from './seed.ts';

/** Expected 401 for users who are not signed in. */
export const signedOutError = /refused: GET \S+\/v2\/me\/organisations 401/;

interface PageTarget {
  readonly stack: ConsoleStack;
  readonly seeded: Seeded;
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

export function openPage<T>(
  browser: TestBrowser,
  where: PageTarget,
  look: Appearance,
  work: (tab: TabSession) => Promise<T>,
): Promise<T> {
  return openTab(browser, where, look, async (tab) => {
    await tab.goto(pagePath(where.page, where.seeded));
    await waitUntilLoaded(tab.page);
    await where.page.prepare?.(tab.page);
    return work(tab);
  });
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
