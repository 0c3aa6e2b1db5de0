import type { Timer } from '../clock/index.ts';
import type { Envelope } from '../envelope/index.ts';
import type { Logger } from '../log/index.ts';
import type { Bucket, BucketSpec } from './kv-types.ts';

export interface NatsOptions {
  /** `nats://` or, to require TLS, `tls://`. They may contain a user and a password, or a token as the user. */
  readonly servers: readonly string[];
  /** Shown in the server's connection list. */
  readonly name: string;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly clock?: Timer;
  /** The maximum time for the first connection. After that the client reconnects indefinitely. */
  readonly firstConnectionMs?: number;
  readonly signal?: AbortSignal;
  /** PEM text of the authorities whose certificates `tls://` servers may have; null for those that Node knows. */
  readonly ca?: string | null | undefined;
  /** The seed of an nkey, or the text of a `.creds` file. */
  readonly credentials?: string | null | undefined;
  /** Subjects at which this client receives responses, see `natsInboxPrefix`. */
  readonly inboxPrefix?: string;
}

export interface StreamSpec {
  readonly name: string;
  readonly subjects: readonly string[];
  /** The number of servers that store each message: 1 or 3. */
  readonly replicas: number;
  readonly maxAgeMs: number;
  readonly maxBytes: number;
  /** Whether a full stream refuses new messages or drops the oldest. */
  readonly whenFull: 'refuse new' | 'drop oldest';
  /** Within this time a second message with the same id is dropped. */
  readonly duplicateWindowMs: number;
  /** The first sequence of a stream that has to be created; 1 by default. */
  readonly firstSequence?: number;
}

export interface ConsumerSpec {
  readonly stream: string;
  /** The name under which the server stores the consumer's position. */
  readonly durable: string;
  readonly filterSubject?: string;
  /** A message that is not acknowledged within this time is delivered again. */
  readonly ackWaitMs: number;
  readonly maxInFlight: number;
  /** The maximum of deliveries of one message; -1 for no limit. */
  readonly maxDeliveries: number;
}

export interface PublishAck {
  readonly stream: string;
  readonly sequence: number;
  /** The stream already contains this message. */
  readonly duplicate: boolean;
}

export interface IncomingMessage {
  readonly subject: string;
  /** Null if the sender was not a Millrace process. */
  readonly envelope: Envelope | null;
  /** The id it was published with, for idempotent handling. */
  readonly messageId: string | null;
  /** Parses the payload; throws if it is not JSON. */
  json(): unknown;
}

export interface FollowSpec {
  readonly stream: string;
  /** The first requested message. If it was purged, the next existing one. */
  readonly fromSequence: number;
  /** The maximum of messages that wait for `take`. */
  readonly maxBuffered: number;
}

export interface StoredMessage extends IncomingMessage {
  readonly sequence: number;
  text(): string;
}

/** Returns the messages of a stream in order. After a failure, close it and open a new one from the last position. */
export interface StreamFollower {
  /** Up to `limit` messages. Waits at most `waitMs` for the first; returns an empty list if none arrives. */
  take(limit: number, waitMs: number): Promise<StoredMessage[]>;
  close(): Promise<void>;
}

export interface StreamState {
  /** Creation time. A recreated stream has another one, and its sequences start again. */
  readonly createdAt: string;
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly bytes: number;
  readonly maxBytes: number;
}

export interface NatsSubscription {
  /** Stops new messages and waits for running handlers. */
  close(): Promise<void>;
}

export interface NatsClient {
  /** Creates the stream or updates its configuration. Safe for several processes at once. */
  ensureStream(spec: StreamSpec): Promise<void>;
  /** Creates the bucket or updates its configuration. Safe for several processes at once. */
  ensureBucket(spec: BucketSpec): Promise<void>;
  /** A bucket by name, whether it exists or not. */
  bucket(name: string): Bucket;
  /** Resolves when the stream has stored the message. Retries, which the message id makes safe. */
  publish(
    subject: string,
    payload: unknown,
    options: {
      readonly messageId: string;
      readonly envelope: Envelope;
      /** The maximum total time. */
      readonly timeoutMs?: number;
    },
  ): Promise<PublishAck>;
  /** Sends a notification to current subscribers. It is not stored and not confirmed. */
  notify(subject: string, payload: unknown, envelope: Envelope): void;
  /** Sends a request and waits for one response. */
  request(
    subject: string,
    payload: unknown,
    options: { readonly envelope: Envelope; readonly timeoutMs: number },
  ): Promise<IncomingMessage>;
  /** Handles messages as they are sent; a result other than undefined is the response. One subscriber per queue gets each. */
  subscribe(
    subject: string,
    options: { readonly queue?: string },
    handler: (message: IncomingMessage) => Promise<unknown>,
  ): NatsSubscription;
  /** Handles messages one at a time, at least once. A rejecting handler gets the message again later. */
  consume(
    spec: ConsumerSpec,
    handler: (message: IncomingMessage) => Promise<void>,
  ): Promise<NatsSubscription>;
  /** Reads a stream in order from a position that the caller stores, without acknowledgements. */
  follow(spec: FollowSpec): Promise<StreamFollower>;
  /** Null if the stream does not exist. */
  streamState(stream: string): Promise<StreamState | null>;
  /** Deletes the messages up to and including this sequence. */
  purgeMessages(stream: string, throughSequence: number): Promise<void>;
  /** Whether the connection is up, as far as known. Use it only to save time, never to drop a message. */
  connected(): boolean;
  ping(): Promise<void>;
  /** Completes pending work, then disconnects. */
  close(): Promise<void>;
}
