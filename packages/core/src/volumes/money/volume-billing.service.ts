import type { Reader, Tx } from '@millrace/platform/db';
import type { HoldId } from '@millrace/platform/ids';
import {
  addUsd,
  affordableMs,
  divideRoundDown,
  hourlyCharge,
  nanoUsd,
  ppm,
  ppmPerWhole,
  roundExact,
  zeroUsd,
  type NanoUsd,
} from '@millrace/platform/money';
import { applyLedger, findHold, readBalance, requireLedgerSuccess } from '../../ledger/index.ts';
import {
  changeMeters,
  costAt,
  HOLD_WINDOW_MS,
  holdFor,
  holdForOrder,
  holdForRetention,
  listMetersOf,
  openMeters,
  RETENTION_DIVISOR,
  RETENTION_MS,
  type BilledResource,
  type Meter,
  type MeterFunding,
  type MeterSpec,
} from '../../metering/index.ts';
import { initialHold, rateOf, type FrozenPrice } from '../../prices/index.ts';
import { listSnapshots } from '../model/snapshots.store.ts';
import { volumeResourceOf, type Snapshot, type Volume } from '../model/volume.ts';

/**
 * Changes meters and holds of a volume in the transaction that changes the volume. The caller holds the volume's lock;
 * the ledger's locks come last.
 * A live volume has one prepaid meter for its size and one for each snapshot. A retained volume has one meter over the
 * money held for the retention, and ends with it.
 */

const SIZE_PREFIX = 'gb-';
const RETENTION_PREFIX = 'kept-';

type SoldVolume = Pick<Volume, 'orgId' | 'mode' | 'wireId' | 'keyId'>;

export function volumeMetersOf(reader: Reader, volume: SoldVolume): Promise<readonly Meter[]> {
  return listMetersOf(reader, volume.orgId, volume.mode, volumeResourceOf(volume));
}

const isRunning = ({ state }: Meter): boolean => state !== 'closed';

const nextOrdinal = (meters: readonly Meter[], prefix: string): number =>
  meters.filter(({ name }) => name.startsWith(prefix)).length + 1;

/** The meter of a retained volume; null while it is prepaid. */
export function retentionMeter(meters: readonly Meter[]): (Meter & { readonly termEndsAt: Date }) | null {
  const retention = meters.find((meter) => meter.name.startsWith(RETENTION_PREFIX) && isRunning(meter));
  return retention?.termEndsAt == null ? null : { ...retention, termEndsAt: retention.termEndsAt };
}

const billed = (volume: SoldVolume): BilledResource => {
  const { orgId, mode, keyId } = volume;
  return { orgId, mode, keyId, cause: volumeResourceOf(volume) };
};

/** Holds the cost of `price` for one hold window, within the budgets of the key that pays for the volume. */
export function holdForVolume(
  tx: Tx,
  volume: SoldVolume,
  { step, price }: { readonly step: string; readonly price: FrozenPrice },
): Promise<HoldId | null> {
  return holdForOrder(tx, billed(volume), { step, amount: initialHold(price, HOLD_WINDOW_MS) });
}

export async function releaseHold(tx: Tx, volume: SoldVolume, holdId: HoldId | null): Promise<void> {
  if (holdId === null) return;
  const { orgId, mode } = volume;
  const [result] = await applyLedger(tx, [
    { do: 'close', orgId, mode, cause: volumeResourceOf(volume), step: `hold:${holdId}:back`, holdId },
  ]);
  requireLedgerSuccess(result);
}

/** Prepaid, with retention as far as the wallet can pay for it. */
function prepaidVolumeFunding(ratePerHour: NanoUsd, means: NanoUsd): MeterFunding {
  const paidMs = affordableMs(nanoUsd(divideRoundDown(means, RETENTION_DIVISOR)), ratePerHour);
  return { kind: 'ahead', retentionMs: Math.min(RETENTION_MS, Number(paidMs ?? RETENTION_MS)) };
}

interface MeteredItem {
  readonly name: string;
  readonly price: FrozenPrice;
  readonly holdId: HoldId | null;
}

function volumeMeterSpec(
  volume: SoldVolume,
  sold: MeteredItem,
  rest: Pick<MeterSpec, 'at' | 'funding' | 'demand'>,
): MeterSpec {
  return {
    mode: volume.mode,
    cause: volumeResourceOf(volume),
    name: sold.name,
    product: 'volume',
    ratePerHour: rateOf(sold.price),
    quantity: sold.price.quantity,
    unit: 'gb',
    keyId: volume.keyId,
    holdId: sold.holdId,
    ...rest,
  };
}

/** The available balance plus the hold. */
async function spendableFor(tx: Tx, volume: SoldVolume, holdId: HoldId | null): Promise<NanoUsd> {
  const { available } = await readBalance(tx, volume.orgId, volume.mode, tx.clock.now());
  const hold = holdId === null ? null : await findHold(tx, volume.orgId, holdId);
  return addUsd(available, hold?.held ?? zeroUsd);
}

/** Closes the meter of the previous size at `at` and opens one for the new size. */
export async function billSize(
  tx: Tx,
  volume: SoldVolume,
  sold: { readonly price: FrozenPrice; readonly holdId: HoldId | null },
  at: Date,
): Promise<void> {
  const meters = await volumeMetersOf(tx, volume);
  await closeMetersAt(
    tx,
    volume,
    meters.filter((meter) => meter.name.startsWith(SIZE_PREFIX)),
    at,
  );
  const name = `${SIZE_PREFIX}${nextOrdinal(meters, SIZE_PREFIX)}`;
  await openPrepaidMeter(tx, volume, { name, price: sold.price, holdId: sold.holdId }, at);
}

async function openPrepaidMeter(tx: Tx, volume: SoldVolume, sold: MeteredItem, at: Date): Promise<void> {
  const funding = await extendHoldForRetention(tx, volume, sold);
  await openMeters(tx, volume.orgId, [volumeMeterSpec(volume, sold, { at, funding, demand: 'running' })]);
}

/**
 * The hold of the order covers only the first hold window. The cost of the retention is added before the meter runs; a
 * meter with less than its target would look as if its money were running out.
 */
async function extendHoldForRetention(
  tx: Tx,
  volume: SoldVolume,
  { name, price, holdId }: MeteredItem,
): Promise<MeterFunding> {
  const ratePerHour = rateOf(price);
  const funding = prepaidVolumeFunding(ratePerHour, await spendableFor(tx, volume, holdId));
  if (holdId === null || funding.kind !== 'ahead') return funding;
  const ahead = initialHold(price, HOLD_WINDOW_MS);
  const keeping = roundExact(hourlyCharge(ratePerHour, funding.retentionMs ?? 0), 'up');
  const { orgId, mode } = volume;
  const [response] = await applyLedger(tx, [
    {
      do: 'resize',
      orgId,
      mode,
      cause: volumeResourceOf(volume),
      step: `set-aside:${name}`,
      holdId,
      target: addUsd(ahead, keeping),
      atLeast: zeroUsd,
      demand: 'running',
      ...(volume.keyId === null ? {} : { keyId: volume.keyId }),
    },
  ]);
  const { held } = requireLedgerSuccess(response);
  const retainedMs = held <= ahead ? 0n : affordableMs(nanoUsd(held - ahead), ratePerHour);
  return { kind: 'ahead', retentionMs: Math.min(funding.retentionMs ?? 0, Number(retainedMs ?? 0n)) };
}

export async function billSnapshot(tx: Tx, volume: SoldVolume, snapshot: Snapshot, at: Date): Promise<void> {
  const { id: name, price, holdId } = snapshot;
  await openPrepaidMeter(tx, volume, { name, price, holdId }, at);
}

export async function stopSnapshotBilling(
  tx: Tx,
  volume: SoldVolume,
  snapshot: Pick<Snapshot, 'id'>,
  at: Date,
): Promise<void> {
  const meters = await volumeMetersOf(tx, volume);
  await closeMetersAt(
    tx,
    volume,
    meters.filter(({ name }) => name.startsWith(snapshot.id)),
    at,
  );
}

async function closeMetersAt(tx: Tx, volume: SoldVolume, meters: readonly Meter[], at: Date): Promise<void> {
  const open = meters.filter(isRunning);
  if (open.length === 0) return;
  await changeMeters(
    tx,
    volume.orgId,
    // A meter that was opened later has cost nothing.
    open.map(({ id, openedAt }) => ({
      do: 'close',
      meterId: id,
      at: at < openedAt ? openedAt : at,
      rest: 'waived',
    })),
  );
}

export async function endVolumeBilling(tx: Tx, volume: SoldVolume, at: Date): Promise<void> {
  await closeMetersAt(tx, volume, await volumeMetersOf(tx, volume), at);
}

/**
 * From `at` on the data is only retained: paid from the hold, or with `wantedMs` from the wallet, and never beyond the
 * spending limit. Returns the end of the retention.
 */
export async function retainData(tx: Tx, volume: Volume, at: Date, wantedMs?: number): Promise<Date> {
  const meters = await volumeMetersOf(tx, volume);
  const open = meters.filter(isRunning);
  const requestedMs = wantedMs ?? Math.max(0, ...open.map(({ retentionMs }) => retentionMs));
  const ratePerHour = addUsd(zeroUsd, ...open.map((meter) => meter.ratePerHour));
  const forMs = Math.min(requestedMs, affordableMsWithinLimit(volume, meters, { at, ratePerHour }));
  const quantity = open.reduce((sum, meter) => sum + meter.quantity, 0);
  await closeMetersAt(tx, volume, open, at);
  const name = `${RETENTION_PREFIX}${nextOrdinal(meters, RETENTION_PREFIX)}`;
  const hold =
    ratePerHour === 0n ? null : await holdForRetention(tx, billed(volume), { name, ratePerHour, forMs });
  const paidMs = hold === null ? null : affordableMs(hold.held, ratePerHour);
  const until = new Date(at.getTime() + Math.min(forMs, Number(paidMs ?? forMs)));
  await openMeters(tx, volume.orgId, [
    {
      mode: volume.mode,
      cause: volumeResourceOf(volume),
      name,
      product: 'volume',
      ratePerHour,
      quantity,
      unit: 'gb',
      // Ending the retention earlier refunds the rest.
      funding: { kind: 'committed', termEndsAt: until, refund: ppm(ppmPerWhole) },
      keyId: volume.keyId,
      holdId: hold?.holdId ?? null,
      at,
    },
  ]);
  return until;
}

/** How long the rest of the spending limit pays for this rate. */
function affordableMsWithinLimit(
  { maxNanoUsd }: Pick<Volume, 'maxNanoUsd'>,
  meters: readonly Meter[],
  { at, ratePerHour }: { readonly at: Date; readonly ratePerHour: NanoUsd },
): number {
  if (maxNanoUsd === null) return Infinity;
  const left = maxNanoUsd - addUsd(zeroUsd, ...meters.map((meter) => costAt(meter, at)));
  const leftMs = left <= 0n ? 0n : affordableMs(nanoUsd(left), ratePerHour);
  return leftMs === null ? Infinity : Number(leftMs);
}

/** Returns false, without any change, if the wallet cannot pay for the volume and its snapshots. */
export async function resumeVolumeBilling(tx: Tx, volume: Volume): Promise<boolean> {
  const meters = await volumeMetersOf(tx, volume);
  const meter = retentionMeter(meters);
  if (meter === null) return true;
  const now = tx.clock.now();
  const at = meter.termEndsAt < now ? meter.termEndsAt : now;
  const snapshots = (await listSnapshots(tx, volume)).filter(({ status }) => status === 'ready');
  const { available } = await readBalance(tx, volume.orgId, volume.mode, now);
  const funding = prepaidVolumeFunding(meter.ratePerHour, available);
  const sold: readonly MeteredItem[] = [
    { name: `${SIZE_PREFIX}${nextOrdinal(meters, SIZE_PREFIX)}`, price: volume.price, holdId: null },
    ...snapshots.map(({ id, price }) => ({ name: `${id}-${nextOrdinal(meters, id)}`, price, holdId: null })),
  ];
  if (!(await canAffordItems(tx, volume, { meter, sold, funding }))) return false;
  const requests = sold.map((one) => volumeMeterSpec(volume, one, { at, funding, demand: 'running' }));
  await openMeters(tx, volume.orgId, requests);
  await closeMetersAt(tx, volume, [meter], at);
  return true;
}

/**
 * Holds the total and releases it at once: a refusal writes nothing, and after a success the lock on the wallet
 * prevents other holds until the transaction ends.
 */
async function canAffordItems(
  tx: Tx,
  volume: SoldVolume,
  items: { readonly meter: Meter; readonly sold: readonly MeteredItem[]; readonly funding: MeterFunding },
): Promise<boolean> {
  const { meter, sold, funding } = items;
  const aheadMs = HOLD_WINDOW_MS + (funding.kind === 'ahead' ? (funding.retentionMs ?? 0) : 0);
  const charges = sold.map(({ price }) => roundExact(hourlyCharge(rateOf(price), aheadMs), 'up'));
  const amount = addUsd(zeroUsd, ...charges, nanoUsd(BigInt(ROUNDINGS_PER_METER * sold.length)));
  const request = { step: `thaw:${meter.name}`, amount, demand: 'running' } as const;
  const response = await holdFor(tx, billed(volume), request);
  if (response?.ok !== true) return false;
  await releaseHold(tx, volume, response.holdId);
  return true;
}

/** Each meter rounds its hold for running and for retention separately. */
const ROUNDINGS_PER_METER = 2;
