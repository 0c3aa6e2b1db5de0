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

/** A stream of events that can be read once. Leaving the loop, or `close()`, also ends the request. */
export class EventStream<Item> implements AsyncIterable<Item> {
  readonly #items: AsyncGenerator<Item, void, undefined>;
  readonly #leaving: AbortController;
  #isTaken = false;

  /** Aborting `leaving` ends the request. */
  constructor(items: AsyncIterable<Item>, leaving: AbortController) {
    this.#leaving = leaving;
    this.#items = untilClosed(items, leaving);
  }

  [Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    if (this.#isTaken)
      throw new MillraceError('This stream has already been read. A stream can be read once.');
    this.#isTaken = true;
    return this.#items;
  }

  /** Ends the stream, and a loop that waits for its next item. */
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

/** The promise of a stream: await it until it is accepted, or iterate over it immediately. */
export class StreamPromise<Item> extends ApiPromise<EventStream<Item>> implements AsyncIterable<Item> {
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    yield* await this;
  }
}

export interface StreamReadOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  /** The maximum silence before the connection counts as broken. The service sends a heartbeat every 15 s. */
  readonly idleMs: number;
}

/** The part of a reader that is used; type libraries differ in the rest. */
interface ByteReader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

/** The events of one response. Throws a ConnectionError if the connection breaks or is silent. */
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
    throw new ConnectionError('The connection of the stream broke.', { cause });
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** A stream with an end marker. Throws if it ends otherwise, so that a completed loop has all items. */
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
    throw new StreamInterruptedError(
      'The stream broke before its end, so the received output is incomplete.',
      {
        cause,
      },
    );
  }
  throw new StreamInterruptedError('The stream closed before its end, so the received output is incomplete.');
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch (cause) {
    throw new MillraceError('An event of the stream is not JSON.', { cause });
  }
}

function isStreamError(item: unknown): boolean {
  return typeof item === 'object' && item !== null && 'error' in item;
}

export interface ReconnectOptions extends StreamReadOptions {
  readonly random: () => number;
  readonly maxRetries: number;
  /** Opens the stream after the event with that id; null for its start. */
  readonly open: (lastEventId: string | null) => Promise<Response>;
}

/** A connection that lasted this long was not a failure, even without events. */
const stableConnectionMs = 10_000;

/**
 * A stream without an end. After each lost connection it resumes after the last event, so that no event is
 * skipped or repeated. It fails after `maxRetries` failed connections in a row.
 */
export async function* reconnectingStream(
  first: Response,
  following: ReconnectOptions,
): AsyncGenerator<unknown, void, undefined> {
  const { clock, random, signal, maxRetries } = following;
  let response: Response | null = first;
  let lastEventId: string | null = null;
  for (let failures = 0; ;) {
    let failure: MillraceError = new ConnectionError('The service closed the stream.');
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
