import type { Reader } from '@millrace/platform/db';
import type { OrgId, RequestId } from '@millrace/platform/ids';
import { readStream, type NatsClient } from '@millrace/platform/nats';
import { findCharges, type RecordedCharge } from '../../credit-leases/index.ts';
import { parseMessage, type ParsedUsage } from './parse-usage.ts';

/** Usage in the stream that a database restored to an earlier point did not have. */
export interface LaterUsage {
  readonly requests: number;
  readonly nanoUsd: string;
  /** The same by outcome since the restore; `waiting` if a request is not charged yet. */
  readonly outcomes: Readonly<Record<string, { readonly requests: number; readonly nanoUsd: string }>>;
  /** The first of these requests. */
  readonly first: readonly LaterRequest[];
  /** The time of the earliest request in the stream: earlier charges are not known here. Null if the stream is empty. */
  readonly streamFrom: string | null;
}

export interface LaterRequest {
  readonly requestId: RequestId;
  readonly orgId: OrgId;
  readonly model: string;
  readonly usedAt: string;
  readonly nanoUsd: string;
  readonly outcome: string;
}

export const noLaterUsage: LaterUsage = {
  ...{ requests: 0, nanoUsd: '0', outcomes: {}, first: [], streamFrom: null },
};

const LISTED_MAX = 1_000;

/** Sums while it reads, because the stream can have millions of requests. A request that was reported twice counts twice. */
export async function findLaterUsage(
  deps: { readonly db: Reader; readonly nats: Pick<NatsClient, 'follow' | 'streamState'> },
  stream: string,
  since: Date,
): Promise<LaterUsage> {
  const sums = new Map<string, { requests: number; amount: bigint }>();
  const first: LaterRequest[] = [];
  let fromMs: number | null = null;
  for await (const messages of readStream(deps.nats, stream)) {
    const usage = messages.flatMap((message) => parseMessage(message).usage).filter(isCharge);
    for (const { event } of usage) fromMs = Math.min(fromMs ?? event.createdAtMs, event.createdAtMs);
    const charges = await findCharges(
      deps.db,
      usage.map(({ requestId }) => requestId),
    );
    for (const one of usage) {
      const charge = charges.get(one.requestId);
      if (charge !== undefined && charge.recordedAt <= since) continue;
      const outcome = charge?.outcome ?? 'waiting';
      const sum = sums.get(outcome) ?? { requests: 0, amount: 0n };
      sums.set(outcome, { requests: sum.requests + 1, amount: sum.amount + one.amount });
      if (first.length < LISTED_MAX) first.push(toLaterRequest(one, outcome));
    }
  }
  const all = [...sums.values()];
  return {
    requests: all.reduce((total, { requests }) => total + requests, 0),
    nanoUsd: String(all.reduce((total, { amount }) => total + amount, 0n)),
    outcomes: Object.fromEntries(
      [...sums].map(([outcome, { requests, amount }]) => [outcome, { requests, nanoUsd: String(amount) }]),
    ),
    first,
    streamFrom: fromMs === null ? null : new Date(fromMs).toISOString(),
  };
}

/** Test mode is free. A checkpoint is charged only if its gateway dies. */
function isCharge({ event, leaseId }: ParsedUsage): boolean {
  return event.kind === 'final' && leaseId !== null;
}

function toLaterRequest(
  { requestId, orgId, amount, event }: ParsedUsage,
  outcome: RecordedCharge['outcome'] | 'waiting',
): LaterRequest {
  const usedAt = new Date(event.createdAtMs).toISOString();
  return { requestId, orgId, model: event.model, usedAt, nanoUsd: String(amount), outcome };
}
