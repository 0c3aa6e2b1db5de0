import type { EventData } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import { appendOutbox } from '@millrace/platform/outbox';
import { authorizeCaller, type CallContext } from '../../identity/index.ts';
import {
  countReservationRequests,
  insertReservationRequest,
  type ReservationRequest,
} from './reservation-requests.store.ts';

const DAY_MS = 86_400_000;

/** People process these requests, so their number is limited. */
export const REQUESTS_PER_DAY_MAX = 100;

/** Stores a request for capacity that exceeds normal orders, and emits an event. Reserves nothing. */
export async function requestReservation(
  tx: Tx,
  call: CallContext,
  gpuCount: number,
): Promise<ReservationRequest> {
  const { orgId, cause } = call;
  const { key } = await authorizeCaller(tx, call, 'rentals:write');
  const { mode, userId } = key;
  const since = new Date(tx.clock.nowMs() - DAY_MS);
  if ((await countReservationRequests(tx, orgId, mode, since)) >= REQUESTS_PER_DAY_MAX) {
    throw new Fault('QUOTA_EXCEEDED', {
      message: `Your organisation has sent ${REQUESTS_PER_DAY_MAX} reservation requests in the last 24 hours.`,
      suggestion: 'The operator has received them. Wait for a response, or try again tomorrow.',
    });
  }
  const request = await insertReservationRequest(tx, orgId, { mode, userId, gpuCount });
  const data: EventData<'reservation.requested'> = { requestId: request.id, gpuCount, requestedBy: userId };
  await appendOutbox(tx, {
    kind: 'event',
    type: 'reservation.requested',
    orgId,
    mode,
    actor: cause.actor,
    resource: { kind: 'reservation-request', id: request.id },
    data,
    occurredAt: request.createdAt,
  });
  return request;
}
