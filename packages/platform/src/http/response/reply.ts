import type { Readable } from 'node:stream';

/** A response with additional headers, created by `reply(…)`. */
export class Reply<Body> {
  readonly body: Body;
  readonly headers: Readonly<Record<string, string>>;
  /** The body as JSON, if it was serialised before. */
  readonly text: string | undefined;

  constructor(body: Body, headers: Readonly<Record<string, string>>, text?: string) {
    this.body = body;
    this.headers = headers;
    this.text = text;
  }
}

/** The body of a `BytesReply`: a buffer or a stream. */
export type ReplyBytes = Buffer | Readable;

/** A response whose bytes the handler produces: JSON, perhaps compressed, or a file. Created by `bytesReply(…)`. */
export class BytesReply {
  readonly headers: Readonly<Record<string, string>>;
  /** Called only if the client does not have the response already. */
  readonly produce: () => Promise<ReplyBytes>;

  constructor(headers: Readonly<Record<string, string>>, produce: () => Promise<ReplyBytes>) {
    this.headers = headers;
    this.produce = produce;
  }
}

/** A response as server-sent events, created by `sse(…)`. */
export class SseReply {
  readonly produce: (stream: SseStream) => Promise<void>;

  constructor(produce: (stream: SseStream) => Promise<void>) {
    this.produce = produce;
  }
}

export interface SseEvent {
  /** The client sends this as `Last-Event-ID` when it reconnects. */
  readonly id?: string;
  readonly event?: string;
  /** Sent as JSON in one `data:` line. Without data, the client only stores the id for its reconnection. */
  readonly data?: unknown;
}

export interface SseStream {
  /** Resolves when the client can receive more; false if it has disconnected. Never rejects. */
  send(event: SseEvent): Promise<boolean>;
  /** Aborts when the client disconnects, the process drains or the maximum duration has passed. */
  readonly signal: AbortSignal;
}

/** Responds with the operation's status, the body, and headers such as `Link`. */
export function reply<Body>(body: Body, headers: Readonly<Record<string, string>> = {}): Reply<Body> {
  return new Reply(body, headers);
}

/** Responds with a body that is the same for every caller and was serialised before. */
export function preparedReply<Body>(
  prepared: { readonly body: Body; readonly text: string },
  headers: Readonly<Record<string, string>> = {},
): Reply<Body> {
  return new Reply(prepared.body, headers, prepared.text);
}

/**
 * Responds with bytes: JSON, or a file if the operation has its own media type. `produce` is not called if the client's
 * `If-None-Match` names the ETag in `headers`. Compressed bytes need `content-encoding` there.
 */
export function bytesReply(
  headers: Readonly<Record<string, string>>,
  produce: () => Promise<ReplyBytes>,
): BytesReply {
  return new BytesReply(headers, produce);
}

/** Responds with a stream, which ends when `produce` returns, soon after `stream.signal` aborts. */
export function sse(produce: (stream: SseStream) => Promise<void>): SseReply {
  return new SseReply(produce);
}
