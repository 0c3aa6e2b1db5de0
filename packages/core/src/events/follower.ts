import { eventFromMessage, seqOfMessage, type FeedEvent } from './events.ts';

/**
 * One reader's position in one feed. The next number is taken from a NATS message. After a gap, an unreadable message,
 * a full buffer or a head further ahead, the follower reads PostgreSQL from the last number it returned.
 */
export interface Follower {
  /** Accepts a message with any content. */
  offer(body: unknown): void;
  /** PostgreSQL has events up to this number. */
  noticeHead(lastSeq: number): void;
  /** The next events, at least one; null once the signal has aborted. One call at a time. */
  next(signal: AbortSignal): Promise<readonly FeedEvent[] | null>;
}

export interface ReadEvents {
  readonly events: readonly FeedEvent[];
  /** All events of interest up to this number have been read. */
  readonly upTo: number;
  /** More events after `upTo` may already be stored. */
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
  // The state of PostgreSQL is unknown at the start, so the first step is a read.
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

  /** Resolves when there may be work. Checks and registers in one tick, so no signal is lost in between. */
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

  /** The consecutive events of the buffer; a gap ends the run and requires a read. */
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
