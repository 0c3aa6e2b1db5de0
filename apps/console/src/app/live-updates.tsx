import { ApiError } from '@millrace/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { sleep } from '../api/clock.ts';
import type { ResourceName } from '../api/queries.ts';
import { followFeed } from './event-feed.ts';
import { useSessionIfAny } from '../api/session.tsx';

/** Refused for good: whoever asks again is refused again. A limit of streams is no such refusal. */
const isFinal = (error: unknown): boolean =>
  error instanceof ApiError && [401, 403, 404].includes(error.status);

/**
 * One tab of a browser follows for all of them: a browser keeps six connections to a server without HTTP/2, and each feed
 * would take one for good. The next tab takes over when that one is closed.
 */
async function withTabLock(
  name: string,
  signal: AbortSignal,
  work: (hasWaited: boolean) => Promise<void>,
): Promise<void> {
  // Absent where the page did not come over https, nor from this machine.
  const locks = navigator.locks as LockManager | undefined;
  if (locks === undefined) return work(false);
  const isFree = await locks.request(name, { ifAvailable: true }, async (lock) => {
    if (lock !== null) await work(false);
    return lock !== null;
  });
  if (!isFree && !signal.aborted) await locks.request(name, { signal }, () => work(true));
}

/**
 * Follows the feed of events of the organisation: whatever it names is read again at once, so a change is on the screen
 * within two seconds. Pages that must not miss anything also look again by themselves.
 */
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
    // Only leaving ends the wait for the turn otherwise, and then nobody is left to be told.
    withTabLock(name, signal, follow).catch(() => undefined);
    return () => {
      leaving.abort();
      channel.close();
    };
  }, [client, place, mayRead, cache]);
  return null;
}
