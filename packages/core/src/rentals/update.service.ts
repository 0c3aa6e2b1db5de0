import type { Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import { readGpuUse } from '../fleet/index.ts';
import { appendAudit, enterAs, type KeyCall } from '../identity/index.ts';
import { requireIdleRule } from './idle-rule.ts';
import { isRepeat } from './life.service.ts';
import { changeRental } from './move.ts';
import { requireRunByUs } from './private-cloud.service.ts';
import { readRecord } from './reading.service.ts';
import type { RentalRecord } from './records.ts';
import type { Rental } from './rental.ts';
import { findByWireId, lockRental, saveRental, type RentalChanges } from './rentals.store.ts';
import {
  changesOf,
  movesItsEnd,
  requireLifeWithin,
  requireRoomForMore,
  type RentalUpdate,
} from './update.ts';

/** Changes what may be changed of a rental that goes on, and answers what it has become. Locks: organisation, rental. */
export async function updateRental(
  tx: Tx,
  call: KeyCall,
  wireId: number,
  update: RentalUpdate,
): Promise<RentalRecord> {
  const { key } = await enterAs(tx, call, 'rentals:write');
  const { orgId } = call;
  const now = tx.clock.now();
  const asker = { orgId, mode: key.mode };
  const found = await findByWireId(tx, orgId, key.mode, wireId);
  const rental = found === null || found.kind === 'instance' ? null : await lockRental(tx, orgId, found.id);
  if (rental === null) throw new Fault('RENTAL_NOT_FOUND');
  isRepeat(rental, 'update');
  const changes = changesOf(update, now);
  if (movesItsEnd(changes)) requireRunByUs(rental);
  if (changes.expiresAt !== undefined) requireLifeWithin(rental, changes.expiresAt, key.limits);
  if (changes.maxNanoUsd !== undefined) {
    const before = await readRecord(tx, asker, wireId, now);
    if (before !== null) requireRoomForMore(changes.maxNanoUsd, before.cost);
  }
  if (changes.idle !== undefined && changes.idle !== null) {
    requireIdleRule(rental, await readGpuUse(tx, rental.providerId));
  }
  if (Object.keys(changes).length > 0) await write(tx, call, rental, changes);
  const record = await readRecord(tx, asker, wireId, now);
  if (record === null) throw new Error(`Rental ${rental.id} is not there after it was changed.`);
  return record;
}

async function write(
  tx: Tx,
  { orgId, cause }: KeyCall,
  rental: Rental,
  changes: RentalChanges,
): Promise<void> {
  if (movesItsEnd(changes)) await changeRental(tx, rental, changes, cause.actor);
  else await saveRental(tx, rental, { ...changes, updatedAt: tx.clock.now() });
  await appendAudit(tx, orgId, cause, {
    action: 'rental.changed',
    resource: { kind: 'rental', id: String(rental.wireId) },
    before: shown(rental, changes),
    after: shown(changes, changes),
  });
}

/** Of the rental, the fields that change, as JSON has them. */
function shown(of: RentalChanges, changes: RentalChanges): Readonly<Record<string, unknown>> {
  const fields = Object.keys(changes) as (keyof RentalChanges)[];
  return Object.fromEntries(
    fields.map((field) => {
      const value = of[field];
      return [field, typeof value === 'bigint' ? String(value) : value];
    }),
  );
}
