import { eventFromMessage, seqOfMessage, type FeedEvent } from './events.ts';

/**
 * The place of one reader in one feed. Messages are only a faster way to learn what PostgreSQL already has: the next
 * number in line is taken from a message; a hole, a message that cannot be read, too many at once or doubt about
 * having missed one all lead to the same answer, a read from PostgreSQL after the last number handed out.
 */
export interface Follower {
  /** A message arrived; anything may be in it. */
  offer(body: unknown): void;
  /** PostgreSQL is known to have numbers up to this one. */
  noticeHead(lastSeq: number): void;
  /** The next events in line, at least one; null once the signal has aborted. One call at a time. */
  next(signal: AbortSignal): Promise<readonly FeedEvent[] | null>;
}

/** What a read found: every event of interest up to a number. */
export interface ReadEvents {
  readonly events: readonly FeedEvent[];
  /** Nothing of interest between the last of the events and this one is missing. */
  readonly upTo: number;
  /** There may be more after `upTo` already. */
  readonly more: boolean;
}

export interface FollowerOptions {
  readonly after: number;
  readonly maxBuffered: number;
  readonly readAfter: (seq: number) => Promise<ReadEvents>;
}

export function createFollower(options: FollowerOptions): Follower {
  let last = options.after;
  let buffer: FeedEvent[] = [];
  // What PostgreSQL may have is not known at the start, so the first thing is always to read.
  let mustRead = true;
  let wake: (() => void) | undefined;

  const signalWork = (): void => {
    wake?.();
    wake = undefined;
  };
  const readInstead = (): void => {
    buffer = [];
    mustRead = true;
    signalWork();
  };

  /** Resolves once there may be something to do. Checks and waits in one turn, so no wake-up is lost between. */
  const work = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      if (mustRead || buffer.length > 0 || signal.aborted) {
        resolve();
        return;
      }
      const settle = (): void => {
        signal.removeEventListener('abort', settle);
        resolve();
      };
      wake = settle;
      signal.addEventListener('abort', settle, { once: true });
    });

  const read = async (): Promise<readonly FeedEvent[]> => {
    mustRead = false;
    const { events, upTo, more } = await options.readAfter(last).catch((error: unknown) => {
      mustRead = true;
      throw error;
    });
    if (more) mustRead = true;
    last = Math.max(last, upTo);
    return events;
  };

  /** What the buffer has that continues the line; a hole in it ends the run and asks for a read. */
  const take = (): readonly FeedEvent[] => {
    const inLine: FeedEvent[] = [];
    for (const event of buffer) {
      if (event.seq <= last) continue;
      if (event.seq !== last + 1) {
        mustRead = true;
        break;
      }
      last = event.seq;
      inLine.push(event);
    }
    buffer = [];
    return inLine;
  };

  return {
    offer: (body) => {
      const seq = seqOfMessage(body);
      if (seq !== null && seq <= last) return;
      if (mustRead) return;
      const event = eventFromMessage(body);
      if (event === null || buffer.length >= options.maxBuffered) {
        readInstead();
        return;
      }
      buffer.push(event);
      signalWork();
    },
    noticeHead: (lastSeq) => {
      const reached = Math.max(last, buffer.at(-1)?.seq ?? 0);
      if (lastSeq > reached) readInstead();
    },
    next: async (signal) => {
      for (;;) {
        await work(signal);
        if (signal.aborted) return null;
        const events = mustRead ? await read() : take();
        if (events.length > 0) return events;
      }
    },
  };
}
