import type { Timer } from '@millrace/platform/clock';
import type { Db, Reader } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { Fault } from '@millrace/platform/fault';
import type { OrgId } from '@millrace/platform/ids';
import { startLoop } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import type { NatsClient, NatsSubscription } from '@millrace/platform/nats';
import { gauge } from '@millrace/platform/telemetry';
import { concernsResource, isVisibleIn } from './events.ts';
import type { EventChannels, FeedEvent, ResourceRef } from './events.ts';
import { getFeedHead, getFeedHeads, listEventsOfResources, listEventsAfter } from './events.store.ts';
import { createFollower, type Follower, type ReadEvents } from './follower.ts';

export interface FeedTuning {
  /** Maximum number of open streams of one organisation in one process. */
  readonly maxFollowersPerOrganisation: number;
  readonly maxFollowers: number;
  /** Maximum number of buffered events of one stream. A client that reads slower continues from PostgreSQL. */
  readonly maxBuffered: number;
  readonly pageSize: number;
  /** How often to compare with PostgreSQL while NATS is connected, in case the newest message was lost. */
  readonly checkMs: number;
  /** The same while NATS is disconnected. */
  readonly checkWhileAwayMs: number;
}

export const defaultFeedTuning: FeedTuning = {
  maxFollowersPerOrganisation: 20,
  maxFollowers: 5_000,
  maxBuffered: 256,
  pageSize: 200,
  checkMs: 2_000,
  checkWhileAwayMs: 200,
};

export interface FeedOptions {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Logger;
  readonly channels: EventChannels;
  /** Makes streams faster. A lost message or a NATS outage costs only time: PostgreSQL has all events. */
  readonly nats: Pick<NatsClient, 'subscribe' | 'connected'>;
  readonly tuning?: Partial<FeedTuning>;
}

export interface FeedPage {
  readonly events: readonly FeedEvent[];
  readonly more: boolean;
}

export interface Feed {
  /** The number of the newest event, 0 before the first. Reading after it returns every later event. */
  latest(orgId: OrgId): Promise<number>;
  /** One page, with the number of the organisation's newest event. */
  page(
    orgId: OrgId,
    query: { after: number; limit: number; mode: Mode },
  ): Promise<FeedPage & { readonly lastSeq: number }>;
  /** One page of the events of some resources; the cost does not depend on other events. */
  pageAbout(orgId: OrgId, query: { after: number; limit: number; about: ResourceRef[] }): Promise<FeedPage>;
  /**
   * Yields every event after `after`, in order, and then new events until the signal aborts. With `about`, only events
   * of these resources. Before the first event it refuses a position that retention has passed, and an organisation
   * with too many open streams.
   */
  follow(orgId: OrgId, query: FollowQuery): Promise<AsyncGenerator<FeedEvent, void, undefined>>;
  close(): Promise<void>;
}

interface FollowQuery {
  readonly after: number;
  readonly mode: Mode;
  readonly about?: readonly ResourceRef[];
  readonly signal: AbortSignal;
}

interface Channel {
  readonly followers: Set<Follower>;
  readonly subscription: NatsSubscription;
}

/** A slot becomes free when a stream ends, which no clock predicts; retry after this time. */
const streamRetrySeconds = 5;

function tooManyStreams(limit: number): Fault {
  const resetSeconds = streamRetrySeconds;
  return new Fault('RATE_LIMITED', {
    message: `This organisation already has ${limit} open event streams, the maximum on one server.`,
    suggestion: 'Close streams that you do not read, or share one stream between readers.',
    retryAfterSeconds: streamRetrySeconds,
    extra: { limit: { name: 'event-streams', scope: 'organisation', limit, remaining: 0, resetSeconds } },
  });
}

const followersGauge = gauge('millrace_feed_followers');

/** How a reader can resume after an invalid position, by the kind of position it has. */
const resumeHints = {
  after: (firstSeq: number) =>
    firstSeq === 1 ? 'read the feed from the start with after=0' : `continue with after=${firstSeq - 1}`,
  cursor: () => 'read again without a cursor',
} as const;

async function requireReadablePosition(
  reader: Reader,
  orgId: OrgId,
  after: number,
  by: keyof typeof resumeHints = 'after',
): Promise<void> {
  // At 0 the reader has read no event, so it can start at the feed's first number without a gap.
  if (after === 0) return;
  const { firstSeq, lastSeq } = await getFeedHead(reader, orgId);
  if (after > lastSeq) {
    // Numbers are shown only after they are stored, so this number is invented, or the database was restored from a
    // backup. Waiting for it would skip every event up to it.
    throw new Fault('INVALID_CURSOR', {
      message: `This feed has no event with seq ${after} yet, so it cannot continue after that number.`,
      suggestion: `Read the current state of your resources, then ${resumeHints[by](1)}.`,
    });
  }
  if (after + 1 >= firstSeq) return;
  throw new Fault('INVALID_CURSOR', {
    message: `Events before seq ${firstSeq} have been deleted after their retention, so the feed cannot continue after ${after}.`,
    suggestion: `Read the current state of your resources, then ${resumeHints[by](firstSeq)}.`,
  });
}

async function readNext(
  reader: Reader,
  orgId: OrgId,
  { about, after, limit }: { about: readonly ResourceRef[] | undefined; after: number; limit: number },
): Promise<ReadEvents> {
  if (about === undefined) {
    const events = await listEventsAfter(reader, orgId, { after, limit, mode: 'live' });
    return { events, upTo: events.at(-1)?.seq ?? after, more: events.length >= limit };
  }
  // Read the head before the events: numbers become visible in order, so the next statement sees all up to this head.
  const { lastSeq } = await getFeedHead(reader, orgId);
  const events = await listEventsOfResources(reader, orgId, { about, after, limit });
  const last = events.at(-1)?.seq ?? after;
  const more = events.length >= limit;
  return { events, upTo: more ? last : Math.max(last, lastSeq), more };
}

/** The followed organisations, with one subscription each for all their followers. */
class FollowedOrganisations {
  readonly #options: FeedOptions;
  readonly #channels = new Map<OrgId, Channel>();
  #followers = 0;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  get followers(): number {
    return this.#followers;
  }

  get ids(): OrgId[] {
    return [...this.#channels.keys()];
  }

  followersOf(orgId: OrgId): ReadonlySet<Follower> {
    return this.#channels.get(orgId)?.followers ?? new Set();
  }

  join(orgId: OrgId, follower: Follower): void {
    const channel = this.#channels.get(orgId) ?? this.#open(orgId);
    channel.followers.add(follower);
    this.#count(1);
  }

  leave(orgId: OrgId, follower: Follower): void {
    const channel = this.#channels.get(orgId);
    if (channel === undefined || !channel.followers.delete(follower)) return;
    this.#count(-1);
    if (channel.followers.size > 0) return;
    this.#channels.delete(orgId);
    void this.#close(channel);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#channels.values()].map((channel) => this.#close(channel)));
    this.#channels.clear();
  }

  #open(orgId: OrgId): Channel {
    const { nats, channels } = this.#options;
    const followers = new Set<Follower>();
    const subscription = nats.subscribe(channels.subjectOfOrganisation(orgId), {}, async (message) => {
      const body = message.json();
      for (const follower of followers) follower.offer(body);
    });
    const channel = { followers, subscription };
    this.#channels.set(orgId, channel);
    return channel;
  }

  async #close({ subscription }: Channel): Promise<void> {
    const { log } = this.#options;
    await subscription.close().catch((error: unknown) => {
      log.debug({ err: error }, 'subscription was already closed');
    });
  }

  #count(change: 1 | -1): void {
    this.#followers += change;
    followersGauge.record(this.#followers);
  }
}

export function createFeed(options: FeedOptions): Feed {
  const { db, clock, log, nats } = options;
  const tuning: FeedTuning = { ...defaultFeedTuning, ...options.tuning };
  const followed = new FollowedOrganisations(options);
  const closing = new AbortController();
  let lastCheckMs = clock.monotonicMs();
  const idleMs = tuning.checkWhileAwayMs;
  const checker = startLoop({ name: 'check feed heads', clock, log, idleMs }, async () => {
    const dueMs = nats.connected() ? tuning.checkMs : tuning.checkWhileAwayMs;
    const orgIds = followed.ids;
    if (orgIds.length === 0 || clock.monotonicMs() - lastCheckMs < dueMs) return 'idle';
    lastCheckMs = clock.monotonicMs();
    // One query for all followed organisations; followers behind their head read from PostgreSQL.
    for (const [orgId, head] of await getFeedHeads(db, orgIds)) {
      for (const follower of followed.followersOf(orgId)) follower.noticeHead(head.lastSeq);
    }
    return 'idle';
  });

  const refuseTooMany = (orgId: OrgId): void => {
    const own = followed.followersOf(orgId).size;
    if (own >= tuning.maxFollowersPerOrganisation) throw tooManyStreams(own);
    if (closing.signal.aborted || followed.followers >= tuning.maxFollowers) {
      throw new Fault('SERVICE_UNAVAILABLE', {
        message: 'This server cannot open more event streams right now. Try again in a few seconds.',
        retryAfterSeconds: 2,
      });
    }
  };

  return {
    latest: async (orgId) => (await getFeedHead(db, orgId)).lastSeq,
    page: async (orgId, query) => {
      await requireReadablePosition(db, orgId, query.after);
      const events = await listEventsAfter(db, orgId, { ...query, limit: query.limit + 1 });
      // Read the head after the events: a head that was read first could be older than the events.
      const { lastSeq } = await getFeedHead(db, orgId);
      return { events: events.slice(0, query.limit), more: events.length > query.limit, lastSeq };
    },
    pageAbout: async (orgId, query) => {
      await requireReadablePosition(db, orgId, query.after, 'cursor');
      const events = await listEventsOfResources(db, orgId, { ...query, limit: query.limit + 1 });
      return { events: events.slice(0, query.limit), more: events.length > query.limit };
    },
    follow: async (orgId, query) => {
      refuseTooMany(orgId);
      const { about } = query;
      const follower = createFollower({
        after: query.after,
        maxBuffered: tuning.maxBuffered,
        readAfter: (after) => readNext(db, orgId, { about, after, limit: tuning.pageSize }),
      });
      const leave = (): void => followed.leave(orgId, follower);
      // Join before the first await, so that a burst of connections cannot pass the limit together.
      followed.join(orgId, follower);
      try {
        await requireReadablePosition(db, orgId, query.after, about === undefined ? 'after' : 'cursor');
      } catch (error) {
        leave();
        throw error;
      }
      const signal = AbortSignal.any([query.signal, closing.signal]);
      // A generator that is never started does not run its `finally`, but the signal always aborts.
      signal.addEventListener('abort', leave, { once: true });
      return readEvents(follower, { ...query, signal }, leave);
    },
    close: async () => {
      closing.abort();
      await checker.stop();
      await followed.close();
    },
  };
}

async function* readEvents(
  follower: Follower,
  { mode, about, signal }: FollowQuery,
  leave: () => void,
): AsyncGenerator<FeedEvent, void, undefined> {
  const isWanted = (event: FeedEvent): boolean =>
    about === undefined || about.some((resource) => concernsResource(event, resource));
  try {
    for (;;) {
      const batch = await follower.next(signal);
      if (batch === null) return;
      for (const event of batch) if (isVisibleIn(mode, event) && isWanted(event)) yield event;
    }
  } finally {
    leave();
  }
}
