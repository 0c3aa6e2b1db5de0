import type { ResourceName } from '../api/queries.ts';

/** What of the console may look different after an event, by the first word of its type. */
const resourcesByEventPrefix: Readonly<Record<string, readonly ResourceName[]>> = {
  rental: ['rentals', 'volumes', 'money', 'catalog'],
  volume: ['volumes', 'rentals', 'money'],
  instance: ['instances', 'marketplace', 'money'],
  machine: ['machines', 'supplier', 'marketplace'],
  balance: ['money'],
  budget: ['money'],
  invoice: ['money'],
  reservation: ['rentals'],
  maintenance: ['rentals', 'instances'],
  key: ['keys'],
};

const none: readonly ResourceName[] = [];

export function changedResources(eventType: string): readonly ResourceName[] {
  return resourcesByEventPrefix[eventType.split('.', 1)[0] ?? ''] ?? none;
}

export interface FollowOptions {
  /**
   * Opens the feed from now on, and comes back once the service has accepted it. It heals short breaks by itself, and throws
   * when it gives up.
   */
  readonly open: () => PromiseLike<AsyncIterable<{ readonly type: string }>>;
  readonly onNouns: (nouns: readonly ResourceName[]) => void;
  /** Something may have been missed: everything is to be read again. */
  readonly onGap: () => void;
  /** Whether it is of no use to ask again, as when the session has ended. */
  readonly isFinal: (error: unknown) => boolean;
  /** Comes back early when the signal aborts. */
  readonly wait: (ms: number) => Promise<unknown>;
  /** Others may have followed until now, so that something may have been missed already. */
  readonly isLate: boolean;
  readonly signal: AbortSignal;
}

const INITIAL_RECONNECT_MS = 1_000;
const MAX_RECONNECT_MS = 30_000;

/**
 * Follows the feed for as long as the page is open. A feed that was given up is opened anew, ever more slowly, and what
 * happened meanwhile is found by reading everything again.
 */
export async function followFeed(following: FollowOptions): Promise<void> {
  const { signal } = following;
  let waitMs = INITIAL_RECONNECT_MS;
  for (let isLate = following.isLate; !signal.aborted; isLate = true) {
    try {
      const events = await following.open();
      // Only now: whatever happens from here on is told, and whatever happened before is read.
      if (isLate) following.onGap();
      for await (const { type } of events) {
        waitMs = INITIAL_RECONNECT_MS;
        const nouns = changedResources(type);
        if (nouns.length > 0) following.onNouns(nouns);
      }
    } catch (error) {
      if (following.isFinal(error)) return;
    }
    await following.wait(waitMs);
    waitMs = Math.min(MAX_RECONNECT_MS, waitMs * 2);
  }
}
