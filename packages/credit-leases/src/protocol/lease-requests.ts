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
  /** The subject prefix of this installation. */
  readonly prefix: string;
  readonly envelope: Envelope;
}

export interface LeaseRequestOptions extends LeaseChannel {
  /** The cell with the organisation's ledger. */
  readonly homeCell: number;
  readonly timeoutMs: number;
}

/** Sends lease requests to the workers of the home cell. Rejects if none replies in time. */
export function createLeaseRequester(
  nats: Pick<NatsClient, 'request'>,
  options: LeaseRequestOptions & {
    /** Called with the database's time in each reply. */
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

/** Recalls credit from a lease for a hold that the balance cannot cover. Resolves to the amount that became available. */
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

/** Publishes an end marker once, and resolves when the usage stream has stored it. */
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
