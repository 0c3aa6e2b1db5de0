import type { Timer } from '../clock/index.ts';
import type { Envelope } from '../envelope/index.ts';
import type { Logger } from '../log/index.ts';
import type { Bucket, BucketSpec } from './kv-types.ts';

export interface NatsOptions {
  readonly servers: readonly string[];
  /** Shown by the server's connection list. */
  readonly name: string;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly clock?: Timer;
  /** How long to try for the first connection before failing. After that it reconnects for ever. */
  readonly firstConnectionMs?: number;
  /** Ends the wait for the first connection. */
  readonly signal?: AbortSignal;
  /** PEM texts. With a certificate of its own the client proves who it is. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  /** The text of a `.creds` file. */
  readonly credentials?: string;
}

export interface StreamSpec {
  readonly name: string;
  readonly subjects: readonly string[];
  /** How many servers keep each message: 1 or 3. */
  readonly replicas: number;
  /** Messages older than this are dropped. */
  readonly maxAgeMs: number;
  readonly maxBytes: number;
  /** A full stream refuses new messages, or forgets the oldest. */
  readonly whenFull: 'refuse new' | 'drop oldest';
  /** Within this time a second message with the same id is dropped. */
  readonly duplicateWindowMs: number;
  /** Where a stream that has to be made begins to count; 1 unless said. */
  readonly firstSequence?: number;
}

export interface ConsumerSpec {
  readonly stream: string;
  /** The name under which the server remembers how far this consumer has come. */
  readonly durable: string;
  readonly filterSubject?: string;
  /** A message not acknowledged in this time is delivered again. */
  readonly ackWaitMs: number;
  readonly maxInFlight: number;
  /** Deliveries of one message before the server gives up on it; -1 never gives up. */
  readonly maxDeliveries: number;
}

export interface PublishAck {
  readonly stream: string;
  readonly sequence: number;
  /** The server had this message already. */
  readonly duplicate: boolean;
}

export interface IncomingMessage {
  readonly subject: string;
  /** Null when the sender was not one of our own processes. */
  readonly envelope: Envelope | null;
  /** The id it was published with, and the key for idempotent handling. */
  readonly messageId: string | null;
  /** Parses the payload; throws when it is not JSON. */
  json(): unknown;
}

export interface FollowSpec {
  readonly stream: string;
  /** The first message wanted. Where it is gone, the next one that is there. */
  readonly fromSequence: number;
  /** How many messages may wait to be taken. */
  readonly maxBuffered: number;
}

export interface StoredMessage extends IncomingMessage {
  /** Its place in the stream. */
  readonly sequence: number;
  /** The payload as it came. */
  text(): string;
}

/** Hands out the messages of a stream in order. After a failure it is closed and opened anew, from the last place. */
export interface StreamFollower {
  /** What is there now, up to so many. Waits for the first, at most so long; then there may be none. */
  take(limit: number, waitMs: number): Promise<StoredMessage[]>;
  close(): Promise<void>;
}

export interface StreamState {
  /** When it was made. A stream that was lost and made again has another, and counts its messages anew. */
  readonly createdAt: string;
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly bytes: number;
  readonly maxBytes: number;
}

export interface NatsSubscription {
  /** Stops new messages and waits for the ones being handled. */
  close(): Promise<void>;
}

export interface NatsClient {
  /** Creates the stream, or brings it to this configuration. Safe to call from several processes at once. */
  ensureStream(spec: StreamSpec): Promise<void>;
  /** Creates the bucket, or brings it to this configuration. Safe to call from several processes at once. */
  ensureBucket(spec: BucketSpec): Promise<void>;
  /** A bucket by its name, whether or not it exists yet. */
  bucket(name: string): Bucket;
  /**
   * Publishes to a stream and resolves when the stream has stored the message. Tries again when the answer does
   * not come; the message id makes that safe.
   */
  publish(
    subject: string,
    payload: unknown,
    options: {
      readonly messageId: string;
      readonly envelope: Envelope;
      /** The longest it may take in all. */
      readonly timeoutMs?: number;
    },
  ): Promise<PublishAck>;
  /** Tells whoever listens now. Nothing is stored and nothing is confirmed: for wake-up calls only. */
  notify(subject: string, payload: unknown, envelope: Envelope): void;
  /** Asks and waits for one answer. */
  request(
    subject: string,
    payload: unknown,
    options: { readonly envelope: Envelope; readonly timeoutMs: number },
  ): Promise<IncomingMessage>;
  /**
   * Listens to messages that are not stored. What the handler resolves with is the answer to a request. With a
   * queue name only one of the listeners with that name gets each message.
   */
  subscribe(
    subject: string,
    options: { readonly queue?: string },
    handler: (message: IncomingMessage) => Promise<unknown>,
  ): NatsSubscription;
  /**
   * Works through a stream, one message at a time and at least once each. A handler that resolves acknowledges;
   * one that rejects gets the message again later.
   */
  consume(
    spec: ConsumerSpec,
    handler: (message: IncomingMessage) => Promise<void>,
  ): Promise<NatsSubscription>;
  /** Reads a stream in order from a place that the caller remembers; nothing is acknowledged. */
  follow(spec: FollowSpec): Promise<StreamFollower>;
  /** Null when there is no such stream. */
  streamState(stream: string): Promise<StreamState | null>;
  /** Forgets the messages up to and with this one. */
  purgeMessages(stream: string, throughSequence: number): Promise<void>;
  /** Whether the connection stands right now, as far as is known. Never a reason to lose anything: only to hurry. */
  connected(): boolean;
  /** Resolves when the server answers. */
  ping(): Promise<void>;
  /** Finishes what is under way, then disconnects. */
  close(): Promise<void>;
}
