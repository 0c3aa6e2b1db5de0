import { ApiError } from '@millrace/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { sleep } from '../api/clock.ts';
import type { ResourceName } from '../api/queries.ts';
import { followFeed } from './event-feed.ts';
import { useSessionIfAny } from '../api/session.tsx';

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

/** Invalidates what events change, so that it is visible within two seconds. Critical pages also poll. */
export function LiveUpdates() {
  const session = useSessionIfAny();
  const cache = useQueryClient();
  const client = session?.client;
  const place = session?.place;
  const mayRead = session?.may('events:read') ?? false;
  useEffect(() => {
    if (client === undefined || place === undefined || !mayRead) return undefined;
    const { organisationId, mode } = place;
    const name = `millrace.feed ${organisationId} ${mode}`;
    const leaving = new AbortController();
    const { signal } = leaving;
    const channel = new BroadcastChannel(name);
    const readAgain = (nouns: readonly ResourceName[] | null): void => {
      const keys = nouns === null ? [[]] : nouns.map((noun) => [noun]);
      for (const key of keys) void cache.invalidateQueries({ queryKey: [organisationId, mode, ...key] });
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
    };
  }, [client, place, mayRead, cache]);
  return null;
}
