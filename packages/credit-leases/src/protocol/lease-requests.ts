import type { ClockReading, Timer } from '@millrace/platform/clock';
import type { Envelope } from '@millrace/platform/envelope';
import type { NatsClient } from '@millrace/platform/nats';
import {
  epochEndMessageId,
  epochEndSubject,
  leaseReplySchema,
  leaseTimeSchema,
  leaseSubjects,
  recallReplySchema,
  toJsonMessage,
  type EpochEnd,
  type LeaseReply,
  type LeaseRequest,
  type RecallRequest,
} from './lease-messages.ts';

export interface LeaseChannel {
  /** The prefix of this installation's subjects. */
  readonly prefix: string;
  readonly envelope: Envelope;
}

export interface LeaseRequestOptions extends LeaseChannel {
  /** The cell that keeps the organisation's money. */
  readonly homeCell: number;
  readonly timeoutMs: number;
}

/** Asks the workers of the home cell. Rejects when none answers in time. */
export function createLeaseRequester(
  nats: Pick<NatsClient, 'request'>,
  options: LeaseRequestOptions & {
    /** Called with the database's time for each answer. */
    readonly time?: { readonly clock: Timer; readonly take: (reading: ClockReading) => void };
  },
): (request: LeaseRequest) => Promise<LeaseReply> {
  const { time, timeoutMs } = options;
  const { lease } = leaseSubjects(options.prefix, options.homeCell);
  return async (request) => {
    const envelope = { ...options.envelope, mode: request.mode };
    const sentMs = time?.clock.monotonicMs() ?? 0;
    const response = await nats.request(lease, toJsonMessage(request), { envelope, timeoutMs });
    const receivedMs = time?.clock.monotonicMs() ?? 0;
    const { databaseMs: remoteMs } = leaseTimeSchema.parse(response.json());
    if (remoteMs !== undefined) time?.take({ remoteMs, sentMs, receivedMs });
    return leaseReplySchema.parse(response.json());
  };
}

/** Asks for money back from a pot, for a hold that it stands in the way of. Answers what became available. */
export function createRecallRequester(
  nats: Pick<NatsClient, 'request'>,
  options: LeaseRequestOptions,
): (request: RecallRequest) => Promise<bigint> {
  const { timeoutMs } = options;
  const { recall } = leaseSubjects(options.prefix, options.homeCell);
  return async (request) => {
    const envelope = { ...options.envelope, mode: request.mode };
    const response = await nats.request(recall, toJsonMessage(request), { envelope, timeoutMs });
    return recallReplySchema.parse(response.json()).freed;
  };
}

/** Puts the end of epochs into the usage stream, once, and resolves when it is stored there. */
export function createEpochEndPublisher(
  nats: Pick<NatsClient, 'publish'>,
  channel: LeaseChannel,
): (end: EpochEnd) => Promise<void> {
  return async (end) => {
    await nats.publish(epochEndSubject(channel.prefix, end), toJsonMessage(end), {
      messageId: epochEndMessageId(end),
      envelope: { ...channel.envelope, mode: end.mode },
    });
  };
}
