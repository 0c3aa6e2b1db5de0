import { ApiPromise } from './api-promise.ts';
import type { Clock } from './clock.ts';
import {
  AbortedError,
  ConnectionError,
  MillraceError,
  StreamInterruptedError,
  toApiError,
} from './errors.ts';
import { parseErrorResponse } from './error-response.ts';
import { mayRetry, retryDelayMs } from './retry.ts';
import { EventParser } from './sse.ts';
import type { ServerEvent } from './sse.ts';
import { sleepUnlessAborted } from './transport.ts';

/** A stream of events that is read once. Leaving the loop, or `close()`, ends it on the other side too. */
export class EventStream<Item> implements AsyncIterable<Item> {
  readonly #items: AsyncGenerator<Item, void, undefined>;
  readonly #leaving: AbortController;
  #isTaken = false;

  /** Aborting `leaving` ends the request that the items come from. */
  constructor(items: AsyncIterable<Item>, leaving: AbortController) {
    this.#leaving = leaving;
    this.#items = untilClosed(items, leaving);
  }

  [Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    if (this.#isTaken) throw new MillraceError('A stream can be read once, and this one has been.');
    this.#isTaken = true;
    return this.#items;
  }

  /** Ends the stream; a loop that waits for the next item comes to its end. */
  close(): void {
    this.#leaving.abort();
  }
}

async function* untilClosed<Item>(
  items: AsyncIterable<Item>,
  leaving: AbortController,
): AsyncGenerator<Item, void, undefined> {
  try {
    for await (const item of items) {
      if (leaving.signal.aborted) return;
      yield item;
    }
  } catch (error) {
    if (!leaving.signal.aborted) throw error;
  } finally {
    leaving.abort();
  }
}

/** A stream to come: await it to know that it was accepted, or iterate over it at once. */
export class StreamPromise<Item> extends ApiPromise<EventStream<Item>> implements AsyncIterable<Item> {
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    yield* await this;
  }
}

export interface StreamReadOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  /** A silence this long means that the other side is gone. The service says something every 15 s. */
  readonly idleMs: number;
}

/** What is needed of a reader; libraries of types differ about the rest. */
interface ByteReader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

/** The events of one response, until it ends. Throws a ConnectionError when it is cut or falls silent. */
async function* eventsOf(
  response: Response,
  reading: StreamReadOptions,
): AsyncGenerator<ServerEvent, void, undefined> {
  const reader: ByteReader | undefined = response.body?.getReader();
  if (reader === undefined) return;
  const decoder = new TextDecoder();
  const parser = new EventParser();
  let silent = false;
  try {
    for (;;) {
      const cancel = reading.clock.after(reading.idleMs, () => {
        silent = true;
        reader.cancel().catch(() => undefined);
      });
      const chunk = await reader.read().finally(cancel);
      if (silent) throw new ConnectionError(`The stream was silent for ${reading.idleMs} ms.`);
      if (chunk.done) return;
      yield* parser.push(decoder.decode(chunk.value, { stream: true }));
    }
  } catch (cause) {
    if (cause instanceof MillraceError) throw cause;
    if (reading.signal?.aborted === true) throw new AbortedError('The stream was aborted.', { cause });
    throw new ConnectionError('The stream was cut.', { cause });
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/**
 * A stream that has an end of its own. Whatever ends it otherwise is thrown: a reader that comes to the end of its loop has
 * everything.
 */
export async function* singleResponseStream(
  response: Response,
  reading: StreamReadOptions & { readonly baseUrl: string },
): AsyncGenerator<unknown, void, undefined> {
  try {
    for await (const { data } of eventsOf(response, reading)) {
      if (data === null) continue;
      if (data === '[DONE]') return;
      const item = parsed(data);
      if (isStreamError(item)) {
        const { headers } = response;
        throw toApiError(parseErrorResponse({ status: 500, headers, text: data, baseUrl: reading.baseUrl }));
      }
      yield item;
    }
  } catch (cause) {
    if (cause instanceof MillraceError && !(cause instanceof ConnectionError)) throw cause;
    throw new StreamInterruptedError('The stream broke before its end: what was received is not all.', {
      cause,
    });
  }
  throw new StreamInterruptedError('The stream ended before its end: what was received is not all.');
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch (cause) {
    throw new MillraceError('An event of the stream is no JSON.', { cause });
  }
}

function isStreamError(item: unknown): boolean {
  return typeof item === 'object' && item !== null && 'error' in item;
}

export interface ReconnectOptions extends StreamReadOptions {
  readonly random: () => number;
  readonly maxRetries: number;
  /** Opens the stream anew after the event with that id; null is where it began. */
  readonly open: (lastEventId: string | null) => Promise<Response>;
}

/** A connection that lasted this long was no failure, even if nothing happened in it. */
const stableConnectionMs = 10_000;

/**
 * A stream without an end. When its connection ends, for whatever reason, it is taken up again after the last event that was
 * given, so that the reader sees no event twice and misses none. It gives up when `maxRetries` connections in a row came to
 * nothing.
 */
export async function* reconnectingStream(
  first: Response,
  following: ReconnectOptions,
): AsyncGenerator<unknown, void, undefined> {
  const { clock, random, signal, maxRetries } = following;
  let response: Response | null = first;
  let lastEventId: string | null = null;
  for (let failures = 0; ;) {
    let failure: MillraceError = new ConnectionError('The service ended the stream.');
    let openedAtMs: number | null = null;
    try {
      response ??= await following.open(lastEventId);
      openedAtMs = clock.nowMs();
      for await (const { id, data } of eventsOf(response, following)) {
        lastEventId = id ?? lastEventId;
        if (data === null) continue;
        const item = parsed(data);
        failures = 0;
        yield item;
      }
    } catch (error) {
      if (!(error instanceof MillraceError) || !mayRetry(error, 'safe')) throw error;
      failure = error;
    }
    response = null;
    const hasLasted = openedAtMs !== null && clock.nowMs() - openedAtMs >= stableConnectionMs;
    failures = hasLasted ? 1 : failures + 1;
    if (!(failures <= maxRetries)) throw failure;
    const delayMs = retryDelayMs(failure, { attempt: failures, random, nowMs: clock.nowMs() });
    if (delayMs === null) throw failure;
    await sleepUnlessAborted(clock, delayMs, signal);
  }
}
