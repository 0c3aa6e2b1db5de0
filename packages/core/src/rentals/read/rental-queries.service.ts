import type { Db, Reader, Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { OrgId } from '@millrace/platform/ids';
import { zeroUsd, type NanoUsd } from '@millrace/platform/money';
import type { TenantRef } from '../../identity/index.ts';
import { listTransfersOf, readHeldFor } from '../../ledger/index.ts';
import { readCosts, listMetersOf, type Meter } from '../../metering/index.ts';
import { createLivePriceLookup } from '../../prices/index.ts';
import { liveCostOf, rentalCostOf, type RentalCost } from '../money/cost.ts';
import { liveRatesOf } from '../money/live-rates.ts';
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

/** Reads rentals as tenants see them. The number of statements does not depend on the length of a page. */

/** One snapshot for all statements, so that no record shows a partial change. */
const snapshotRead = { name: 'read rentals', isolation: 'repeatable read', withAnyClock: true } as const;

/** Newest first. Returns one more than the limit if there is a next page. */
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

/** Null if the organisation has no rental (or instance) with this id in this mode. */
export function getRentalRecord(
  db: Db,
  tenant: TenantRef,
  wireId: number,
  at: Date,
  kind: 'rental' | 'instance' = 'rental',
): Promise<RentalRecord | null> {
  return db.transaction(snapshotRead, (tx) => readRentalRecord(tx, tenant, wireId, at, kind));
}

/** For use inside a transaction that has changed the rental. */
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

export async function readWrittenRecord(tx: Tx, tenant: TenantRef, wireId: number): Promise<RentalRecord> {
  const record = await readRentalRecord(tx, tenant, wireId, tx.clock.now());
  if (record === null) throw new Error(`Rental ${wireId} was written but cannot be read.`);
  return record;
}

/** Null if the organisation has no instance with this id in this mode. */
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
  // Instances have the price of their machine.
  const isPriced = rentals.some(({ kind }) => kind !== 'instance');
  const livePrices = isPriced ? await createLivePriceLookup(reader, orgId, mode, at) : null;
  return listed.map(({ rental, createdBy, variant }, index) => ({
    rental,
    createdBy,
    variant,
    ...(details[index] ?? noDetails),
    attached: attached.get(rental.id) ?? [],
    cost: costs(rental),
    livePrices,
  }));
}

/** Only bare metal can have volumes, so other pages skip the query. */
async function readAttachedVolumes(
  reader: Reader,
  orgId: OrgId,
  rentals: readonly RentalSummary[],
): ReturnType<typeof readAttachedVolumesOf> {
  const ids = rentals.filter(({ kind }) => kind === 'bare-metal').map(({ id }) => id);
  return ids.length === 0 ? new Map() : readAttachedVolumesOf(reader, orgId, ids);
}

const noDetails: RentalDetails = { machines: [], terms: [], steps: [] };

/** Foreign and absent rentals give the same fault. */
export async function requireRental(reader: Reader, tenant: TenantRef, wireId: number): Promise<void> {
  if ((await findListedRental(reader, tenant, wireId)) === null) throw new Fault('RENTAL_NOT_FOUND');
}

export interface HistoryEntry extends EndedRental {
  readonly finalCost: NanoUsd;
}

/** Latest end first. Returns one more than the limit if there is a next page. */
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
  /** Test mode only: the cost in live mode. Null in live mode, for reserved terms, or without a live price. */
  readonly liveTotal: NanoUsd | null;
}

/** Null if the organisation has no such rental. */
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
    return {
      ...rentalCostOf(meters, transfers, at),
      held: await readHeldFor(tx, orgId, mode, cause),
      liveTotal: mode === 'live' ? null : await readLiveTotal(tx, listed, meters, at),
    };
  });
}

async function readLiveTotal(
  reader: Reader,
  listed: ListedRental,
  meters: readonly Meter[],
  at: Date,
): Promise<NanoUsd | null> {
  const { rental } = listed;
  const livePrices = await createLivePriceLookup(reader, rental.orgId, rental.mode, at);
  const [details] = await readRentalDetails(reader, rental.orgId, [listed]);
  const terms = details?.terms ?? [];
  // A term that ends early also owes a part of its rest, which meters of test mode do not record.
  if (livePrices === null || terms.some(({ termType }) => termType !== 'on-demand')) return null;
  return liveCostOf(meters, liveRatesOf(rental, terms[0]?.price ?? null, livePrices), at);
}

type MeteredRental = { readonly wireId: number; readonly kind: RentalKind };

/** A page contains either only instances or no instances, so all causes have one kind. */
async function costsOfRentals(
  reader: Reader,
  { orgId, mode }: TenantRef,
  rentals: readonly MeteredRental[],
  at: Date,
): Promise<(rental: MeteredRental) => NanoUsd> {
  const causes = rentals.map(causeOfRental);
  const [first] = causes;
  if (first === undefined) return () => zeroUsd;
  if (causes.some(({ kind }) => kind !== first.kind))
    throw new Error('A page must not mix rentals and instances.');
  const ids = causes.map(({ id }) => id);
  const costs = await readCosts(reader, orgId, mode, { kind: first.kind, ids }, at);
  return ({ wireId }) => costs.get(String(wireId)) ?? zeroUsd;
}
