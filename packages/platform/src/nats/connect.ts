import {
  jetstream,
  jetstreamManager,
  type ConsumerMessages,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
} from '@nats-io/jetstream';
import { connect, PermissionViolationError, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { systemClock, withDeadline, type Timer } from '../clock/index.ts';
import { assertOutsideTransaction } from '../db/index.ts';
import type { Logger } from '../log/index.ts';
import { NotReadyError } from '../lifecycle/health.ts';
import { connectionOptions } from './connection-options.ts';
import { explainConnectionError, explainPermissionError, isRefusedCredential } from './connection-problem.ts';
import { followStream } from './follow.ts';
import { ensureBucket, openBucket } from './kv.ts';
import { encode, toHeaders, toIncoming } from './messages.ts';
import { retryTransient } from './retry.ts';
import { parseNatsServers } from './servers.ts';
import { ensureConsumer, ensureStream, streamState } from './streams.ts';
import type { IncomingMessage, NatsClient, NatsOptions, NatsSubscription } from './types.ts';

const defaultFirstConnectionMs = 30_000;
const retryConnectMs = 250;
const defaultPublishTimeoutMs = 10_000;
const publishAttemptMs = 2_000;
const pingTimeoutMs = 2_000;
const redeliverAfterMs = 1_000;

async function connectWithin(options: NatsOptions, clock: Timer): Promise<NatsConnection> {
  const { firstConnectionMs = defaultFirstConnectionMs, signal, log } = options;
  const wanted = connectionOptions(options);
  const deadlineMs = clock.monotonicMs() + firstConnectionMs;
  /** The last logged explanation, because a process may retry for long. */
  let reported: string | null = null;
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await connect(wanted);
    } catch (error) {
      const explanation = explainConnectionError(error);
      if (clock.monotonicMs() >= deadlineMs) {
        // Only hosts, because the rest of a server's address may contain a password.
        const hosts = parseNatsServers(options.servers).hosts.join(', ');
        const problem = explanation ?? `None of the NATS servers could be reached: ${hosts}.`;
        throw new Error(problem, { cause: error });
      }
      if (explanation !== null && explanation !== reported) log.error({}, explanation);
      reported = explanation;
      await clock.sleep(retryConnectMs, signal);
    }
  }
}

/** Tracks whether the connection is up. */
interface ConnectionState {
  connected: boolean;
  /** The server refuses the credentials of this process. */
  refused: boolean;
  readonly onReconnect: Set<() => void>;
}

async function followStatus(
  connection: NatsConnection,
  log: NatsOptions['log'],
  standing: ConnectionState,
): Promise<void> {
  for await (const status of connection.status()) {
    if (status.type === 'disconnect') {
      standing.connected = false;
      log.warn({}, 'connection to NATS lost');
    }
    if (status.type === 'reconnect') {
      standing.connected = true;
      standing.refused = false;
      for (const listener of standing.onReconnect) listener();
      log.info({}, 'connection to NATS restored');
    }
    if (status.type === 'error') reportError(status.error, log, standing);
  }
}

/** A refusal is logged once, not with each attempt to connect again. */
function reportError(error: Error, log: NatsOptions['log'], standing: ConnectionState): void {
  if (isRefusedCredential(error)) {
    if (!standing.refused) log.error({}, explainConnectionError(error) ?? error.message);
    standing.refused = true;
    return;
  }
  if (error instanceof PermissionViolationError) return log.error({}, explainPermissionError(error));
  log.error({ err: error }, 'NATS reported an error');
}

/** Connects, then reconnects indefinitely. */
export async function connectNats(options: NatsOptions): Promise<NatsClient> {
  const { clock = systemClock, log } = options;
  const connection = await connectWithin(options, clock);
  const standing: ConnectionState = { connected: true, refused: false, onReconnect: new Set() };
  void followStatus(connection, log, standing);
  // Skips the account check, because right after a restart that request can time out.
  const manager = await jetstreamManager(connection, { checkAPI: false });
  return createClient({ connection, manager, streams: jetstream(connection), clock, log, standing });
}

interface ClientDeps {
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
  readonly streams: JetStreamClient;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'warn' | 'error'>;
  readonly standing: ConnectionState;
}

function createClient(deps: ClientDeps): NatsClient {
  const { connection, manager, streams, clock, log, standing } = deps;
  const onReconnect = (listener: () => void): (() => void) => {
    standing.onReconnect.add(listener);
    return () => standing.onReconnect.delete(listener);
  };
  return {
    ensureStream: (spec) => retryTransient(clock, () => ensureStream(manager, spec)),
    ensureBucket: (spec) => retryTransient(clock, () => ensureBucket(manager, spec)),
    bucket: (name) => openBucket({ manager, streams, clock, log, onReconnect }, name),

    async publish(subject, payload, { messageId, envelope, timeoutMs = defaultPublishTimeoutMs }) {
      assertOutsideTransaction('NATS');
      const data = encode(payload);
      const timeout = Math.min(publishAttemptMs, timeoutMs);
      const store = () =>
        streams.publish(subject, data, { msgID: messageId, headers: toHeaders(envelope), timeout });
      const ack = await withDeadline(clock, `Publishing to ${subject}`, timeoutMs, (signal) =>
        retryTransient(clock, store, signal),
      );
      return { stream: ack.stream, sequence: ack.seq, duplicate: ack.duplicate };
    },

    notify(subject, payload, envelope) {
      // A notification before the commit would make listeners read the old state.
      assertOutsideTransaction('NATS');
      connection.publish(subject, encode(payload), { headers: toHeaders(envelope) });
    },

    async request(subject, payload, { envelope, timeoutMs }) {
      assertOutsideTransaction('NATS');
      const headers = toHeaders(envelope);
      return toIncoming(await connection.request(subject, encode(payload), { headers, timeout: timeoutMs }));
    },

    subscribe(subject, { queue }, handler) {
      const subscription = connection.subscribe(subject, queue === undefined ? {} : { queue });
      // The server may refuse the subscription; `reportError` logs this.
      const handled = handleEach(subscription, (message) => respond(deps, message, handler)).catch(
        () => undefined,
      );
      return {
        async close() {
          await subscription.drain();
          await handled;
        },
      };
    },

    async consume(spec, handler) {
      await retryTransient(clock, () => ensureConsumer(manager, spec));
      const consumer = await retryTransient(clock, () => streams.consumers.get(spec.stream, spec.durable));
      const messages = await consumer.consume({ max_messages: spec.maxInFlight });
      return toSubscription(
        messages,
        handleEach(messages, (message) => acknowledge(deps, message, handler)),
      );
    },

    follow: (spec) => followStream(streams, clock, spec),
    streamState: (stream) => retryTransient(clock, () => streamState(manager, stream)),
    async purgeMessages(stream, throughSequence) {
      await retryTransient(clock, () => manager.streams.purge(stream, { seq: throughSequence + 1 }));
    },

    connected: () => standing.connected && !connection.isClosed(),

    async ping() {
      if (standing.refused) throw new NotReadyError('NATS refuses the credentials of this process.');
      await withDeadline(clock, 'A ping of NATS', pingTimeoutMs, () => connection.flush());
    },

    async close() {
      if (connection.isClosed()) return;
      // Without a server, pending messages cannot be sent.
      await (standing.connected ? connection.drain() : connection.close());
    },
  };
}

async function handleEach<M>(
  messages: AsyncIterable<M>,
  handle: (message: M) => Promise<void>,
): Promise<void> {
  for await (const message of messages) await handle(message);
}

function toSubscription(messages: ConsumerMessages, handled: Promise<void>): NatsSubscription {
  return {
    async close() {
      await messages.close();
      await handled;
    },
  };
}

/**
 * If the handler fails, the requester gets no response and times out. A listener without a result must not respond: the message
 * may be published to a stream, and its publisher would take the response for the stream's acknowledgement.
 */
async function respond(
  { log }: ClientDeps,
  message: Msg,
  handler: (message: IncomingMessage) => Promise<unknown>,
): Promise<void> {
  try {
    const result = await handler(toIncoming(message));
    const isRequest = message.reply !== undefined && message.reply !== '';
    if (isRequest && result !== undefined) message.respond(encode(result));
  } catch (error) {
    log.error({ err: error, subject: message.subject }, 'NATS handler failed');
  }
}

async function acknowledge(
  { log }: ClientDeps,
  message: JsMsg,
  handler: (message: IncomingMessage) => Promise<void>,
): Promise<void> {
  try {
    await handler(toIncoming(message));
    message.ack();
  } catch (error) {
    log.error(
      { err: error, subject: message.subject, deliveries: message.info.deliveryCount },
      'NATS handler failed and will be retried',
    );
    message.nak(redeliverAfterMs);
  }
}
