import type { Tx } from '@millrace/platform/db';
import { toUuid } from '@millrace/platform/ids';
import { appendAuditEntry, type AuditContext } from '../../identity/index.ts';
import { emitRentalEvent, enqueueReconcile } from '../model/rental-transitions.ts';
import { rentalResourceOf, type Rental } from '../model/rental.ts';
import { insertTransition } from '../model/rentals.store.ts';

export function pendingFields(now: Date, timeoutMs: number) {
  return {
    status: 'Pending',
    statusReason: null,
    statusSince: now,
    task: 'provision',
    taskOptions: {},
    taskDeadlineAt: new Date(now.getTime() + timeoutMs),
    power: 'changing',
    gpuHeld: true,
    attempt: 1,
    firstAttempt: 1,
    unhealthySince: null,
    billingPausedAt: null,
    createdAt: now,
    updatedAt: null,
    startedAt: null,
    endAcceptedAt: null,
    endedAt: null,
    endReason: null,
    expiryNotifiedAt: null,
  } as const;
}

/** Writes the first transition and the audit entry of a new rental, emits its event and enqueues its reconciling. */
export async function recordPending(
  tx: Tx,
  cause: AuditContext,
  rental: Rental,
  audit: { readonly after: Readonly<Record<string, unknown>>; readonly reason?: string },
): Promise<void> {
  const { actor } = cause;
  await insertTransition(tx, rental, { from: null, to: 'Pending', reason: null }, actor);
  const resource = rentalResourceOf(rental);
  await appendAuditEntry(tx, rental.orgId, cause, {
    ...audit,
    action: `${resource.kind}.created`,
    resource,
    after: { rentalId: rental.wireId, externalId: toUuid(rental.id), ...audit.after },
  });
  await emitRentalEvent(tx, rental, { type: 'rental.pending', actor });
  await enqueueReconcile(tx, rental, actor);
}
