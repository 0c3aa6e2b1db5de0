import type { ResourceName } from '../../api/queries.ts';

/** Cache keys to invalidate after an event, by the first word of its type. */
const resourcesByEventPrefix: Readonly<Record<string, readonly ResourceName[]>> = {
  rental: ['rentals', 'volumes', 'money', 'catalog', 'admin'],
  volume: ['volumes', 'rentals', 'money'],
  instance: ['instances', 'marketplace', 'money', 'admin'],
  machine: ['machines', 'supplier', 'marketplace', 'admin'],
  balance: ['money'],
  budget: ['money'],
  invoice: ['money'],
  reservation: ['rentals', 'admin'],
  maintenance: ['rentals', 'instances', 'supplier', 'admin'],
  key: ['keys'],
};

/** The overview lists events of all types, also of later versions. */
export function changedResources(eventType: string): readonly ResourceName[] {
  return [...(resourcesByEventPrefix[eventType.split('.', 1)[0] ?? ''] ?? []), 'overview'];
}

export interface FollowOptions<Event extends { readonly type: string }> {
  /** Resolves once the service accepted the feed, which reconnects and throws when it stops retrying. */
  readonly open: () => PromiseLike<AsyncIterable<Event>>;
  readonly onEvent: (event: Event) => void;
  readonly onNouns: (nouns: readonly ResourceName[]) => void;
  /** Events may have been missed: reload everything. */
  readonly onGap: () => void;
  /** Whether retrying is pointless, for example after the session ended. */
  readonly isFinal: (error: unknown) => boolean;
  /** Resolves early when the signal aborts. */
  readonly wait: (ms: number) => Promise<unknown>;
  /** Another tab followed until now, so events may already have been missed. */
  readonly isLate: boolean;
  readonly signal: AbortSignal;
}

const INITIAL_RECONNECT_MS = 1_000;
const MAX_RECONNECT_MS = 30_000;

/** Follows the feed while the page is open. After a failure it reopens the feed with backoff and reloads everything. */
export async function followFeed<Event extends { readonly type: string }>(
  following: FollowOptions<Event>,
): Promise<void> {
  const { signal } = following;
  let waitMs = INITIAL_RECONNECT_MS;
  for (let isLate = following.isLate; !signal.aborted; isLate = true) {
    try {
      const events = await following.open();
      // Reload only after opening: the feed covers everything later, the reload everything earlier.
      if (isLate) following.onGap();
      for await (const event of events) {
        waitMs = INITIAL_RECONNECT_MS;
        following.onNouns(changedResources(event.type));
        following.onEvent(event);
      }
    } catch (error) {
      if (following.isFinal(error)) return;
    }
    await following.wait(waitMs);
    waitMs = Math.min(MAX_RECONNECT_MS, waitMs * 2);
  }
}
