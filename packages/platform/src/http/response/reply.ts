import type { Readable } from 'node:stream';

/** An answer with headers of its own. Made with `reply(…)`. */
export class Reply<Body> {
  readonly body: Body;
  readonly headers: Readonly<Record<string, string>>;
  /** The body as JSON, when it was made once and for all. */
  readonly text: string | undefined;

  constructor(body: Body, headers: Readonly<Record<string, string>>, text?: string) {
    this.body = body;
    this.headers = headers;
    this.text = text;
  }
}

/** What a `BytesReply` sends: all of it at once, or as a stream. */
export type ReplyBytes = Buffer | Readable;

/** An answer whose bytes were made by the handler: JSON, perhaps compressed, or a file. Made with `bytesReply(…)`. */
export class BytesReply {
  readonly headers: Readonly<Record<string, string>>;
  /** Asked only if the client does not have the answer already. */
  readonly produce: () => Promise<ReplyBytes>;

  constructor(headers: Readonly<Record<string, string>>, produce: () => Promise<ReplyBytes>) {
    this.headers = headers;
    this.produce = produce;
  }
}

/** An answer as server-sent events. Made with `sse(…)`. */
export class SseReply {
  readonly produce: (stream: SseStream) => Promise<void>;

  constructor(produce: (stream: SseStream) => Promise<void>) {
    this.produce = produce;
  }
}

export interface SseEvent {
  /** What a client sends back as `Last-Event-ID` when it reconnects. */
  readonly id?: string;
  readonly event?: string;
  /** Sent as JSON on one `data:` line. Without it nothing has happened: the client only learns the id to come back with. */
  readonly data?: unknown;
}

export interface SseStream {
  /** Resolves once the client can take more; rejects never. False when the client has left. */
  send(event: SseEvent): Promise<boolean>;
  /** Aborts when the client leaves, the process drains or the longest stream duration has passed. */
  readonly signal: AbortSignal;
}

/** Answers with the operation's status, the body, and headers such as `Link`. */
export function reply<Body>(body: Body, headers: Readonly<Record<string, string>> = {}): Reply<Body> {
  return new Reply(body, headers);
}

/** Answers with a body that is the same for everyone and was turned into JSON beforehand. */
export function preparedReply<Body>(
  prepared: { readonly body: Body; readonly text: string },
  headers: Readonly<Record<string, string>> = {},
): Reply<Body> {
  return new Reply(prepared.body, headers, prepared.text);
}

/**
 * Answers with bytes that are at hand, or quickly made: JSON, or a file where the operation has a media type of its own.
 * `produce` is not called for a client whose `If-None-Match` names the ETag among the headers. Bytes that are compressed
 * say so by `content-encoding`.
 */
export function bytesReply(
  headers: Readonly<Record<string, string>>,
  produce: () => Promise<ReplyBytes>,
): BytesReply {
  return new BytesReply(headers, produce);
}

/** Answers with a stream; `produce` returns to end it, and should return soon after `stream.signal` aborts. */
export function sse(produce: (stream: SseStream) => Promise<void>): SseReply {
  return new SseReply(produce);
}
