import { cache } from './cache.ts';
import { sleep } from './clock.ts';
import { apiQuery, type ApiRead } from './queries.ts';
import { restoredSession, type Session } from './session.tsx';

/** After this time the page appears with skeletons, which take the browser a second layout and paint. */
const WAIT_MS = 250;

/**
 * Starts the reads of a page in the loader of its route, so that they run while the page's code loads, and waits a moment for
 * them. Without a known account, and for links that are only pointed at, the page itself starts them.
 */
export async function startReads(
  { cause }: { readonly cause: 'enter' | 'preload' | 'stay' },
  readsFor: (session: Pick<Session, 'place' | 'may'>) => readonly ApiRead<unknown>[],
): Promise<void> {
  const session = cause === 'enter' ? restoredSession(cache) : null;
  if (session === null) return;
  const reads = readsFor(session).map((read) => cache.prefetchQuery(apiQuery(session, read)));
  const loaded = Promise.race([Promise.all(reads), sleep(WAIT_MS)]);
  await sleep(0);
  // The first date format of a tab takes about 40 ms, which pass while the reads wait for the service.
  void new Intl.DateTimeFormat();
  await loaded;
}
