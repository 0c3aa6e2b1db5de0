import type { Page } from 'playwright-core';
import type { ColorScheme, Session, TestBrowser, Visit } from './browser.ts';
import type { ConsoleStack } from './console-stack.ts';
import type { ConsolePage } from './pages.ts';
import { inMode } from './person.ts';
import type { Seeded } from './seed.ts';

/** What is asked of the service by whoever is not signed in, and refused. */
export const signedOut = /refused: GET \S+\/v2\/me\/organisations 401/;

interface Where {
  readonly stack: ConsoleStack;
  readonly seeded: Seeded;
  readonly page: ConsolePage;
}

interface Look {
  readonly viewport: { readonly width: number; readonly height: number };
  readonly colorScheme?: ColorScheme;
}

/** A tab of whoever the page is for, in its mode. */
export function openTab<T>(
  browser: TestBrowser,
  { stack, seeded, page }: Where,
  look: Look,
  act: (visit: Visit) => Promise<T>,
): Promise<T> {
  const session = sessionFor(stack, seeded, page);
  const who = session === null ? { expected: [signedOut] } : { session };
  return browser.visit({ url: stack.apiUrl, ...look, ...who }, act);
}

/** Opens a page as whoever it is for, and waits until it has all that it shows. */
export function lookAt<T>(
  browser: TestBrowser,
  where: Where,
  look: Look,
  act: (visit: Visit) => Promise<T>,
): Promise<T> {
  return openTab(browser, where, look, async (visit) => {
    await visit.goto(addressOf(where.page, where.seeded));
    await settled(visit.page);
    await where.page.prepare?.(visit.page);
    return act(visit);
  });
}

export function addressOf({ route, at }: ConsolePage, seeded: Seeded): string {
  return at?.(seeded) ?? route;
}

export function nameOf({ route, as }: ConsolePage): string {
  return as ?? (route.replaceAll('$', '').replaceAll('/', '-').replace(/^-/, '') || 'home');
}

function sessionFor(
  stack: ConsoleStack,
  seeded: Seeded,
  { who = 'owner', mode = 'live' }: ConsolePage,
): Session | null {
  if (who === 'anyone') return null;
  if (who === 'newcomer') return seeded.newcomer.session;
  return inMode(seeded.owner.session, stack.apiUrl, seeded.owner.orgId, mode);
}

/** The page has its heading, and says of nothing any more that it is loading. */
export async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await page
    .getByText(/^Loading .*…$/)
    .first()
    .waitFor({ state: 'detached' });
}
