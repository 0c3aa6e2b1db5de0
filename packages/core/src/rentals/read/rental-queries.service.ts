import type { Db, Reader, Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { OrgId } from '@millrace/platform/ids';
import { zeroUsd, type NanoUsd } from '@millrace/platform/money';
import type { TenantRef } from '../../identity/index.ts';
import { listTransfersOf, readHeldFor } from '../../ledger/index.ts';
import { readCosts, listMetersOf } from '../../metering/index.ts';
import { rentalCostOf, type RentalCost } from '../money/cost.ts';
import {
  findListedRental,
  listEndedRentals,
  listLiveRentals,
  readRentalDetails,
  type RentalDetails,
  type EndedRentalPage,
  type EndedRental,
  type ListedRental,
  type LiveRentalPage,
} from './rental-lists.store.ts';
import { readAttachedVolumesOf } from '../../volumes/index.ts';
import type { RentalRecord } from './rental-record.ts';
import { causeOfRental, type RentalKind, type RentalSummary } from '../model/rental.ts';

/** Reading rentals as tenants see them. A page takes the same number of statements however long it is. */

/** One snapshot for all statements: no record shows half of a change. */
const snapshotRead = { name: 'read rentals', isolation: 'repeatable read', withAnyClock: true } as const;

/** Rentals that have not ended, newest first; one more than asked for when there are more. */
export function listRentalRecords(
  db: Db,
  { orgId, mode }: TenantRef,
  page: LiveRentalPage,
  at: Date,
): Promise<readonly RentalRecord[]> {
  return db.transaction(snapshotRead, async (tx) =>
    loadRecords(tx, { orgId, mode }, await listLiveRentals(tx, orgId, mode, page), at),
  );
}

/** Null when the organisation has no rental, or no instance, of this id in this mode. */
export function getRentalRecord(
  db: Db,
  tenant: TenantRef,
  wireId: number,
  at: Date,
  kind: 'rental' | 'instance' = 'rental',
): Promise<RentalRecord | null> {
  return db.transaction(snapshotRead, (tx) => readRentalRecord(tx, tenant, wireId, at, kind));
}

/** The same inside a transaction that has changed the rental, to answer with what it has become. */
export async function readRentalRecord(
  reader: Reader,
  tenant: TenantRef,
  wireId: number,
  at: Date,
  kind: 'rental' | 'instance' = 'rental',
): Promise<RentalRecord | null> {
  const listed = await findListedRental(reader, tenant, wireId, kind);
  if (listed === null) return null;
  const [record] = await loadRecords(reader, tenant, [listed], at);
  return record ?? null;
}

/** The record of a rental that this transaction has written. */
export async function readWrittenRecord(tx: Tx, tenant: TenantRef, wireId: number): Promise<RentalRecord> {
  const record = await readRentalRecord(tx, tenant, wireId, tx.clock.now());
  if (record === null) throw new Error(`Rental ${wireId} was written and is not there.`);
  return record;
}

/** The rental behind an instance; null when the organisation has none of this id in this mode. */
export const getInstanceRecord = (db: Db, tenant: TenantRef, wireId: number, at: Date) =>
  getRentalRecord(db, tenant, wireId, at, 'instance');

async function loadRecords(
  reader: Reader,
  { orgId, mode }: TenantRef,
  listed: readonly ListedRental[],
  at: Date,
): Promise<readonly RentalRecord[]> {
  if (listed.length === 0) return [];
  const details = await readRentalDetails(reader, orgId, listed);
  const rentals = listed.map(({ rental }) => rental);
  const costs = await costsOfRentals(reader, { orgId, mode }, rentals, at);
  const attached = await readAttachedVolumes(reader, orgId, rentals);
  return listed.map(({ rental, createdBy, variant }, index) => ({
    rental,
    createdBy,
    variant,
    ...(details[index] ?? noDetails),
    attached: attached.get(rental.id) ?? [],
    cost: costs(rental),
  }));
}

/** Only bare metal can have any, so nobody else waits for the answer. */
async function readAttachedVolumes(
  reader: Reader,
  orgId: OrgId,
  rentals: readonly RentalSummary[],
): ReturnType<typeof readAttachedVolumesOf> {
  const ids = rentals.filter(({ kind }) => kind === 'bare-metal').map(({ id }) => id);
  return ids.length === 0 ? new Map() : readAttachedVolumesOf(reader, orgId, ids);
}

const noDetails: RentalDetails = { machines: [], terms: [], steps: [] };

/** Refuses what the organisation does not have in this mode, whether somebody else has it or nobody. */
export async function requireRental(reader: Reader, tenant: TenantRef, wireId: number): Promise<void> {
  if ((await findListedRental(reader, tenant, wireId)) === null) throw new Fault('RENTAL_NOT_FOUND');
}

export interface HistoryEntry extends EndedRental {
  readonly finalCost: NanoUsd;
}

/** Rentals that have ended, the last to end first; one more than asked for when there are more. */
export function listRentalHistory(
  db: Db,
  { orgId, mode }: TenantRef,
  page: EndedRentalPage,
  at: Date,
): Promise<readonly HistoryEntry[]> {
  return db.transaction(snapshotRead, async (tx) => {
    const ended = await listEndedRentals(tx, orgId, mode, page);
    const costs = await costsOfRentals(tx, { orgId, mode }, ended, at);
    return ended.map((rental) => ({ ...rental, finalCost: costs(rental) }));
  });
}

export interface RentalCostWithHold extends RentalCost {
  readonly held: NanoUsd;
}

/** What it has cost, with the money still set aside for it; null when the organisation has no such rental. */
export function getRentalCost(
  db: Db,
  { orgId, mode }: TenantRef,
  wireId: number,
  at: Date,
): Promise<RentalCostWithHold | null> {
  return db.transaction(snapshotRead, async (tx) => {
    const listed = await findListedRental(tx, { orgId, mode }, wireId);
    if (listed === null) return null;
    const cause = causeOfRental(listed.rental);
    const meters = await listMetersOf(tx, orgId, mode, cause);
    const transfers = await listTransfersOf(tx, orgId, mode, cause);
    return { ...rentalCostOf(meters, transfers, at), held: await readHeldFor(tx, orgId, mode, cause) };
  });
}

type MeteredRental = { readonly wireId: number; readonly kind: RentalKind };

/** Pages hold instances, or rentals that are none, never both: see `causeOfRental`. */
async function costsOfRentals(
  reader: Reader,
  { orgId, mode }: TenantRef,
  rentals: readonly MeteredRental[],
  at: Date,
): Promise<(rental: MeteredRental) => NanoUsd> {
  const causes = rentals.map(causeOfRental);
  const [first] = causes;
  if (first === undefined) return () => zeroUsd;
  if (causes.some(({ kind }) => kind !== first.kind)) throw new Error('A page holds rentals and instances.');
  const ids = causes.map(({ id }) => id);
  const costs = await readCosts(reader, orgId, mode, { kind: first.kind, ids }, at);
  return ({ wireId }) => costs.get(String(wireId)) ?? zeroUsd;
}
