import type { Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import { reportsGpuUtilisation } from '../../fleet/index.ts';
import { appendAuditEntry, authorizeCaller, type CallContext } from '../../identity/index.ts';
import { requireIdleRule } from '../order/idle-rule.ts';
import { checkRentalAction } from './termination.service.ts';
import { updateRentalAndEnqueue } from '../model/rental-transitions.ts';
import { requireNotPrivateCloud } from '../order/private-cloud.service.ts';
import { readRentalRecord, readWrittenRecord } from '../read/rental-queries.service.ts';
import type { RentalRecord } from '../read/rental-record.ts';
import type { Rental } from '../model/rental.ts';
import { findRentalByWireId, lockRental, saveRental, type RentalChanges } from '../model/rentals.store.ts';
import {
  toRentalChanges,
  changesEnd,
  requireTtlWithinKeyLimit,
  requireLimitAboveCost,
  type RentalUpdate,
} from './rental-changes.ts';

/** Updates a rental and returns its new record. Locks: organisation, rental. */
export async function updateRental(
  tx: Tx,
  call: CallContext,
  wireId: number,
  update: RentalUpdate,
): Promise<RentalRecord> {
  const { key } = await authorizeCaller(tx, call, 'rentals:write');
  const { orgId } = call;
  const now = tx.clock.now();
  const tenant = { orgId, mode: key.mode };
  const found = await findRentalByWireId(tx, orgId, key.mode, wireId);
  const rental = found === null || found.kind === 'instance' ? null : await lockRental(tx, orgId, found.id);
  if (rental === null) throw new Fault('RENTAL_NOT_FOUND');
  checkRentalAction(rental, 'update');
  const changes = toRentalChanges(update, now);
  if (changesEnd(changes)) requireNotPrivateCloud(rental);
  if (changes.expiresAt !== undefined) requireTtlWithinKeyLimit(rental, changes.expiresAt, key.limits);
  if (changes.maxNanoUsd !== undefined) {
    const before = await readRentalRecord(tx, tenant, wireId, now);
    if (before !== null) requireLimitAboveCost(changes.maxNanoUsd, before.cost);
  }
  if (changes.idle !== undefined && changes.idle !== null) {
    requireIdleRule(rental, await reportsGpuUtilisation(tx, rental.providerId));
  }
  if (Object.keys(changes).length > 0) await saveChanges(tx, call, rental, changes);
  return readWrittenRecord(tx, tenant, wireId);
}

async function saveChanges(
  tx: Tx,
  { orgId, cause }: CallContext,
  rental: Rental,
  changes: RentalChanges,
): Promise<void> {
  if (changesEnd(changes)) await updateRentalAndEnqueue(tx, rental, changes, cause.actor);
  else await saveRental(tx, rental, { ...changes, updatedAt: tx.clock.now() });
  await appendAuditEntry(tx, orgId, cause, {
    action: 'rental.changed',
    resource: { kind: 'rental', id: String(rental.wireId) },
    before: auditFieldsOf(rental, changes),
    after: auditFieldsOf(changes, changes),
  });
}

/** The changed fields, in a form that JSON can store. */
function auditFieldsOf(of: RentalChanges, changes: RentalChanges): Readonly<Record<string, unknown>> {
  const fields = Object.keys(changes) as (keyof RentalChanges)[];
  return Object.fromEntries(
    fields.map((field) => {
      const value = of[field];
      return [field, typeof value === 'bigint' ? String(value) : value];
    }),
  );
}
