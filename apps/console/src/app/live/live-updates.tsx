import { ApiError, type MillraceEvent } from '@millrace/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import { sleep } from '../../api/clock.ts';
import { invalidate } from '../../api/invalidate.ts';
import type { ResourceName } from '../../api/queries.ts';
import { completionBody, completionOf } from './completion.ts';
import { followFeed } from './event-feed.ts';
import { showNotification } from './notifications.ts';
import { useSessionIfAny, type Session } from '../../api/session.tsx';

/** Retrying cannot help after these. A 429 is not final: a stream slot may become free. */
const isFinal = (error: unknown): boolean =>
  error instanceof ApiError && [401, 403, 404].includes(error.status);

/**
 * Lets one tab follow the feed for all: without HTTP/2 a browser has six connections to a server, and each feed uses
 * one. Another tab takes over when that tab closes.
 */
async function withTabLock(
  name: string,
  signal: AbortSignal,
  work: (hasWaited: boolean) => Promise<void>,
): Promise<void> {
  // Web Locks exist only on HTTPS and localhost.
  const locks = navigator.locks as LockManager | undefined;
  if (locks === undefined) return work(false);
  const isFree = await locks.request(name, { ifAvailable: true }, async (lock) => {
    if (lock !== null) await work(false);
    return lock !== null;
  });
  if (!isFree && !signal.aborted) await locks.request(name, { signal }, () => work(true));
}

/** Shows the end of long operations as browser notifications, until the tab leaves the organisation or mode. */
function createNotifier(session: Session, open: (href: string) => void) {
  const { me, memberships, place } = session;
  const shown = new Set<() => void>();
  return {
    notify: (event: MillraceEvent): void => {
      // The feed has the events of both modes.
      const isOwn = event.orgId === place.organisationId && event.mode === place.mode;
      const completion = isOwn ? completionOf(event) : null;
      if (completion === null) return;
      const body = completionBody(completion, {
        organisation: me.organisation.name,
        hasSeveral: memberships.length > 1,
        isTest: place.mode === 'test',
      });
      const { title, href } = completion;
      const tag = `${place.organisationId} ${place.mode} ${href}`;
      shown.add(showNotification({ userId: me.user.id, title, body, tag, onClick: () => open(href) }));
    },
    close: (): void => {
      for (const remove of shown) remove();
    },
  };
}

/** Invalidates what events change, so that it is visible within two seconds. Critical pages also poll. */
export function LiveUpdates() {
  const session = useSessionIfAny();
  const cache = useQueryClient();
  const router = useRouter();
  useEffect(() => {
    if (session === null || !session.may('events:read')) return undefined;
    const { client, place } = session;
    const { organisationId, mode } = place;
    const notifier = createNotifier(session, (href) => void router.navigate({ href }));
    const name = `millrace.feed ${organisationId} ${mode}`;
    const leaving = new AbortController();
    const { signal } = leaving;
    const channel = new BroadcastChannel(name);
    const readAgain = (nouns: readonly ResourceName[] | null): void => {
      const keys = nouns === null ? [[]] : nouns.map((noun) => [noun]);
      for (const key of keys) void invalidate(cache, [organisationId, mode, ...key]);
    };
    const broadcast = (nouns: readonly ResourceName[] | null): void => {
      readAgain(nouns);
      channel.postMessage(nouns);
    };
    channel.addEventListener('message', ({ data }: MessageEvent<readonly ResourceName[] | null>) =>
      readAgain(data),
    );
    const follow = (hasWaited: boolean): Promise<void> =>
      followFeed({
        open: () => client.events.stream({ after: 'latest' }, { signal }),
        onNouns: broadcast,
        // Only the tab that follows the feed notifies, so that each event is shown once.
        onEvent: notifier.notify,
        onGap: () => broadcast(null),
        isLate: hasWaited,
        isFinal,
        wait: (ms) => sleep(ms, signal).catch(() => undefined),
        signal,
      });
    // Waiting for the lock rejects only when this component unmounts.
    withTabLock(name, signal, follow).catch(() => undefined);
    return () => {
      leaving.abort();
      channel.close();
      notifier.close();
    };
  }, [session, cache, router]);
  return null;
}
