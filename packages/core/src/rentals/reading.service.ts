import type { Db, Reader } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { Fault } from '@millrace/platform/fault';
import type { OrgId } from '@millrace/platform/ids';
import { zeroUsd, type NanoUsd } from '@millrace/platform/money';
import { listTransfersOf, readHeldFor } from '../ledger/index.ts';
import { costsOf, listMetersOf } from '../metering/index.ts';
import { costOf, type RentalCost } from './cost.ts';
import {
  findListedInstance,
  findListedRental,
  listEndedRentals,
  listLiveRentals,
  readBelongings,
  type Belongings,
  type EndedPage,
  type EndedRental,
  type ListedRental,
  type LivePage,
} from './listing.store.ts';
import { readAttached } from '../volumes/index.ts';
import type { RentalRecord, ShownRental } from './records.ts';
import { causeOfRental, type RentalKind } from './rental.ts';

/** Reading rentals as tenants see them. A page takes the same number of statements however long it is. */

/** One snapshot for all statements: no record shows half of a change. */
const asOneMoment = { name: 'read rentals', isolation: 'repeatable read', withAnyClock: true } as const;

/** The tenant and the kind of key that asks. */
export interface Asker {
  readonly orgId: OrgId;
  readonly mode: Mode;
}

/** Rentals that have not ended, newest first; one more than asked for when there are more. */
export function listRecords(
  db: Db,
  { orgId, mode }: Asker,
  page: LivePage,
  at: Date,
): Promise<readonly RentalRecord[]> {
  return db.transaction(asOneMoment, async (tx) =>
    complete(tx, { orgId, mode }, await listLiveRentals(tx, orgId, mode, page), at),
  );
}

/** Null when the organisation has no rental of this id in this mode. */
export function getRecord(db: Db, asker: Asker, wireId: number, at: Date): Promise<RentalRecord | null> {
  return db.transaction(asOneMoment, (tx) => readRecord(tx, asker, wireId, at));
}

/** The same inside a transaction that has changed the rental, to answer with what it has become. */
export async function readRecord(
  reader: Reader,
  asker: Asker,
  wireId: number,
  at: Date,
): Promise<RentalRecord | null> {
  const listed = await findListedRental(reader, asker.orgId, asker.mode, wireId);
  if (listed === null) return null;
  const [record] = await complete(reader, asker, [listed], at);
  return record ?? null;
}

/** The rental behind an instance; null when the organisation has none of this id in this mode. */
export function getInstanceRecord(
  db: Db,
  asker: Asker,
  wireId: number,
  at: Date,
): Promise<RentalRecord | null> {
  return db.transaction(asOneMoment, async (tx) => {
    const listed = await findListedInstance(tx, asker.orgId, asker.mode, wireId);
    if (listed === null) return null;
    const [record] = await complete(tx, asker, [listed], at);
    return record ?? null;
  });
}

async function complete(
  reader: Reader,
  { orgId, mode }: Asker,
  listed: readonly ListedRental[],
  at: Date,
): Promise<readonly RentalRecord[]> {
  if (listed.length === 0) return [];
  const belongings = await readBelongings(reader, orgId, listed);
  const rentals = listed.map(({ rental }) => rental);
  const costs = await costsOfRentals(reader, { orgId, mode }, rentals, at);
  const attached = await attachedTo(reader, orgId, rentals);
  return listed.map(({ rental, createdBy, variant }, index) => ({
    rental,
    createdBy,
    variant,
    ...(belongings[index] ?? nothing),
    attached: attached.get(rental.id) ?? [],
    cost: costs(rental),
  }));
}

/** Only bare metal can have any, so nobody else waits for the answer. */
async function attachedTo(
  reader: Reader,
  orgId: OrgId,
  rentals: readonly ShownRental[],
): ReturnType<typeof readAttached> {
  const ids = rentals.filter(({ kind }) => kind === 'bare-metal').map(({ id }) => id);
  return ids.length === 0 ? new Map() : readAttached(reader, orgId, ids);
}

const nothing: Belongings = { machines: [], terms: [], steps: [] };

/** Refuses what the organisation does not have in this mode, whether somebody else has it or nobody. */
export async function requireRental(reader: Reader, { orgId, mode }: Asker, wireId: number): Promise<void> {
  if ((await findListedRental(reader, orgId, mode, wireId)) === null) throw new Fault('RENTAL_NOT_FOUND');
}

export interface HistoryEntry extends EndedRental {
  readonly finalCost: NanoUsd;
}

/** Rentals that have ended, the last to end first; one more than asked for when there are more. */
export function listHistory(
  db: Db,
  { orgId, mode }: Asker,
  page: EndedPage,
  at: Date,
): Promise<readonly HistoryEntry[]> {
  return db.transaction(asOneMoment, async (tx) => {
    const ended = await listEndedRentals(tx, orgId, mode, page);
    const costs = await costsOfRentals(tx, { orgId, mode }, ended, at);
    return ended.map((rental) => ({ ...rental, finalCost: costs(rental) }));
  });
}

export interface CostAndHold extends RentalCost {
  readonly held: NanoUsd;
}

/** What it has cost, with the money still set aside for it; null when the organisation has no such rental. */
export function getCost(
  db: Db,
  { orgId, mode }: Asker,
  wireId: number,
  at: Date,
): Promise<CostAndHold | null> {
  return db.transaction(asOneMoment, async (tx) => {
    const listed = await findListedRental(tx, orgId, mode, wireId);
    if (listed === null) return null;
    const cause = causeOfRental(listed.rental);
    const meters = await listMetersOf(tx, orgId, mode, cause);
    const transfers = await listTransfersOf(tx, orgId, mode, cause);
    return { ...costOf(meters, transfers, at), held: await readHeldFor(tx, orgId, mode, cause) };
  });
}

type Metered = { readonly wireId: number; readonly kind: RentalKind };

/** Pages hold instances, or rentals that are none, never both: see `causeOfRental`. */
async function costsOfRentals(
  reader: Reader,
  { orgId, mode }: Asker,
  rentals: readonly Metered[],
  at: Date,
): Promise<(rental: Metered) => NanoUsd> {
  const causes = rentals.map(causeOfRental);
  const [first] = causes;
  if (first === undefined) return () => zeroUsd;
  if (causes.some(({ kind }) => kind !== first.kind)) throw new Error('A page holds rentals and instances.');
  const ids = causes.map(({ id }) => id);
  const costs = await costsOf(reader, orgId, mode, { kind: first.kind, ids }, at);
  return ({ wireId }) => costs.get(String(wireId)) ?? zeroUsd;
}
