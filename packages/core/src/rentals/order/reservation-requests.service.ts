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

/** People read them: an organisation that asks more often in a day has been heard. */
export const REQUESTS_PER_DAY_MAX = 100;

/** Writes down that somebody wants more than is rented by a call, and tells of it. Nothing is reserved by asking. */
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
      message: `The organisation has made ${REQUESTS_PER_DAY_MAX} reservation requests within a day.`,
      suggestion: 'The operator has them. Wait for an answer, or ask again tomorrow.',
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
