import type { Page } from 'playwright-core';
import type { ColorScheme, Session, TestBrowser, Visit } from './browser.ts';
import type { ConsoleStack } from './console-stack.ts';
import type { ConsolePage } from './pages.ts';
import { inMode } from './person.ts';
import type { Seeded } from './seed.ts';

/** What is asked of the service by whoever is not signed in, and refused. */
export const signedOut = /refused: GET \S+\/v2\/me\/organisations 401/;

/** Opens a page as whoever it is for, and waits until it has all that it shows. */
export async function lookAt<T>(
  browser: TestBrowser,
  where: { readonly stack: ConsoleStack; readonly seeded: Seeded; readonly page: ConsolePage },
  options: {
    readonly viewport: { readonly width: number; readonly height: number };
    readonly colorScheme?: ColorScheme;
  },
  act: (visit: Visit) => Promise<T>,
): Promise<T> {
  const { stack, seeded, page: entry } = where;
  const session = sessionFor(stack, seeded, entry);
  return browser.visit(
    {
      url: stack.apiUrl,
      ...options,
      ...(session === null ? { expected: [signedOut] } : { session }),
    },
    async (visit) => {
      await visit.goto(addressOf(entry, seeded));
      await settled(visit.page);
      await entry.prepare?.(visit.page);
      return act(visit);
    },
  );
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
  await page.waitForFunction(() => !/^Loading .*…$/m.test(document.body.innerText));
}
