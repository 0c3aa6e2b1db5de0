import type { Db } from '@millrace/platform/db';
import type { OrgId } from '@millrace/platform/ids';
import { readStream, type NatsClient } from '@millrace/platform/nats';
import { eventFromMessage, type EventChannels, type FeedEvent } from './events.ts';
import { getFeedHead, insertLostEvents } from './events.store.ts';

/** Finds and restores events that are in the NATS stream but not in a database restored to an earlier point. */

type Streams = Pick<NatsClient, 'follow' | 'streamState'>;

export interface LostEventsOfOrganisation {
  readonly orgId: OrgId;
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly count: number;
}

export interface LostInvoice {
  readonly number: string;
  readonly orgId: OrgId;
  readonly totalNanoUsd: string;
}

export interface LostEvents {
  readonly organisations: readonly LostEventsOfOrganisation[];
  /** The number of events by type. */
  readonly types: Readonly<Record<string, number>>;
  /** From the events of the first invoices. */
  readonly invoices: readonly LostInvoice[];
}

interface LostEventsDeps {
  readonly db: Db;
  readonly nats: Streams;
  readonly channels: Pick<EventChannels, 'stream'>;
}

const INVOICES_MAX = 1_000;

async function* readLostEvents(deps: LostEventsDeps): AsyncGenerator<readonly FeedEvent[]> {
  const heads = new Map<OrgId, number>();
  for await (const messages of readStream(deps.nats, deps.channels.stream)) {
    const events = messages.flatMap((message) => eventFromMessage(message.json()) ?? []);
    for (const { orgId } of events) {
      if (!heads.has(orgId)) heads.set(orgId, (await getFeedHead(deps.db, orgId)).lastSeq);
    }
    const lost = events.filter(({ orgId, seq }) => seq > (heads.get(orgId) ?? 0));
    if (lost.length > 0) yield lost;
  }
}

export async function findLostEvents(deps: LostEventsDeps): Promise<LostEvents> {
  const found = new Map<OrgId, LostEventsOfOrganisation>();
  const types = new Map<string, number>();
  const invoices: LostInvoice[] = [];
  for await (const events of readLostEvents(deps)) {
    for (const event of events) {
      const { orgId, seq, type } = event;
      const before = found.get(orgId) ?? { orgId, firstSeq: seq, lastSeq: seq, count: 0 };
      found.set(orgId, {
        orgId,
        firstSeq: Math.min(before.firstSeq, seq),
        lastSeq: Math.max(before.lastSeq, seq),
        count: before.count + 1,
      });
      types.set(type, (types.get(type) ?? 0) + 1);
      if (type === 'invoice.finalized' && invoices.length < INVOICES_MAX) invoices.push(invoiceOf(event));
    }
  }
  return { organisations: [...found.values()], types: Object.fromEntries(types), invoices };
}

function invoiceOf({ orgId, data }: FeedEvent): LostInvoice {
  return { orgId, number: String(data['number']), totalNanoUsd: String(data['totalNanoUsd']) };
}

/** Restores the numbers and ids that readers have seen. Call it only while no relay numbers events. */
export async function storeLostEvents(deps: LostEventsDeps): Promise<number> {
  let count = 0;
  for await (const events of readLostEvents(deps)) {
    await deps.db.transaction({ name: 'store lost events', isolation: 'read committed' }, (tx) =>
      insertLostEvents(tx, events),
    );
    count += events.length;
  }
  return count;
}
