import type { Reader, Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { HoldId } from '@millrace/platform/ids';
import {
  addUsd,
  affordableMs,
  divideRoundDown,
  formatUsd,
  hourlyCharge,
  meteredTotal,
  nanoUsd,
  ppm,
  ppmPerWhole,
  roundExact,
  zeroUsd,
  type NanoUsd,
} from '@millrace/platform/money';
import {
  applyLedger,
  findHold,
  InsufficientFundsError,
  readBalance,
  requireLedgerSuccess,
} from '../../ledger/index.ts';
import {
  changeMeters,
  costAt,
  listMetersOf,
  openMeters,
  type Meter,
  type MeterFunding,
  type MeterSpec,
} from '../../metering/index.ts';
import { initialHold, rateOf, type FrozenPrice } from '../../prices/index.ts';
import { HOLD_WINDOW_MS, RETENTION_MS, RETENTION_DIVISOR } from '../model/policy.ts';
import { listSnapshots } from '../model/snapshots.store.ts';
import { causeOfVolume, type Snapshot, type Volume } from '../model/volume.ts';

/**
 * What a volume and its snapshots cost: their meters and holds, changed in the transaction in which they change
 * themselves. The lock of the volume is held; the ledger's locks come last.
 *
 * A volume that is live has a meter for its size and one for each snapshot, paid as they run. One that is only kept has a
 * single meter, over what was set aside for keeping, which ends when that does.
 */

const SIZE_PREFIX = 'gb-';
const RETENTION_PREFIX = 'kept-';

type BilledVolume = Pick<Volume, 'orgId' | 'mode' | 'wireId' | 'keyId'>;

export function volumeMetersOf(reader: Reader, volume: BilledVolume): Promise<readonly Meter[]> {
  return listMetersOf(reader, volume.orgId, volume.mode, causeOfVolume(volume));
}

const isRunning = ({ state }: Meter): boolean => state !== 'closed';

const nextOrdinal = (meters: readonly Meter[], prefix: string): number =>
  meters.filter(({ name }) => name.startsWith(prefix)).length + 1;

/** The meter of a volume that is only kept; null while it is paid as it runs. */
export function retentionMeter(meters: readonly Meter[]): (Meter & { readonly termEndsAt: Date }) | null {
  const retention = meters.find((meter) => meter.name.startsWith(RETENTION_PREFIX) && isRunning(meter));
  return retention?.termEndsAt == null ? null : { ...retention, termEndsAt: retention.termEndsAt };
}

/**
 * Sets aside what `price` costs for the time that a hold reaches over, in the budgets of the key that pays for the volume.
 * Null where it costs nothing. Throws the refusal, with how much was missing, where that is not there.
 */
export async function holdForVolume(
  tx: Tx,
  volume: BilledVolume,
  hold: { readonly step: string; readonly price: FrozenPrice },
): Promise<HoldId | null> {
  const amount = initialHold(hold.price, HOLD_WINDOW_MS);
  if (amount === zeroUsd) return null;
  const { orgId, mode } = volume;
  const [result] = await applyLedger(tx, [
    {
      do: 'hold',
      orgId,
      mode,
      cause: causeOfVolume(volume),
      step: hold.step,
      amount,
      demand: 'new',
      ...(volume.keyId === null ? {} : { keyId: volume.keyId }),
    },
  ]);
  if (result?.ok === false && result.reason === 'INSUFFICIENT_BALANCE') {
    throw insufficientVolumeBalance(amount, result.available ?? 0n);
  }
  return requireLedgerSuccess(result).holdId;
}

function insufficientVolumeBalance(hold: NanoUsd, available: bigint): Fault {
  return new Fault('INSUFFICIENT_BALANCE', {
    message: `The available balance does not cover the ${formatUsd(hold)} USD that this would set aside.`,
    cause: new InsufficientFundsError(hold - available),
  });
}

/** Gives back what was set aside for what will not be. */
export async function releaseHold(tx: Tx, volume: BilledVolume, holdId: HoldId | null): Promise<void> {
  if (holdId === null) return;
  const { orgId, mode } = volume;
  const [result] = await applyLedger(tx, [
    { do: 'close', orgId, mode, cause: causeOfVolume(volume), step: `hold:${holdId}:back`, holdId },
  ]);
  requireLedgerSuccess(result);
}

/** As it runs, with its data kept beyond that as far as the wallet can bear it. */
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
  volume: BilledVolume,
  sold: MeteredItem,
  rest: Pick<MeterSpec, 'at' | 'funding' | 'demand'>,
): MeterSpec {
  return {
    mode: volume.mode,
    cause: causeOfVolume(volume),
    name: sold.name,
    product: 'volume',
    ratePerHour: rateOf(sold.price),
    quantity: sold.price.quantity,
    unit: 'gb',
    ...(volume.keyId === null ? {} : { keyId: volume.keyId }),
    ...(sold.holdId === null ? {} : { holdId: sold.holdId }),
    ...rest,
  };
}

/** What the wallet has for this: what is available, and what was set aside for it. */
async function spendableFor(tx: Tx, volume: BilledVolume, holdId: HoldId | null): Promise<NanoUsd> {
  const { available } = await readBalance(tx, volume.orgId, volume.mode, tx.clock.now());
  const hold = holdId === null ? null : await findHold(tx, volume.orgId, holdId);
  return addUsd(available, hold?.held ?? zeroUsd);
}

/** From `at` on the volume costs what was agreed for this size; what it cost before ends there. */
export async function billSize(
  tx: Tx,
  volume: BilledVolume,
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

async function openPrepaidMeter(tx: Tx, volume: BilledVolume, sold: MeteredItem, at: Date): Promise<void> {
  const funding = await holdForRetention(tx, volume, sold);
  await openMeters(tx, volume.orgId, [volumeMeterSpec(volume, sold, { at, funding, demand: 'running' })]);
}

/**
 * What was set aside when it was accepted is for its first while alone. What keeping its data will cost is added before its
 * meter runs, as far as that can be had: a meter that has less than it should looks as if its money were running out.
 */
async function holdForRetention(
  tx: Tx,
  volume: BilledVolume,
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
      cause: causeOfVolume(volume),
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

/** From `at` on the snapshot costs what it takes. */
export async function billSnapshot(
  tx: Tx,
  volume: BilledVolume,
  snapshot: Snapshot,
  at: Date,
): Promise<void> {
  const { id: name, price, holdId } = snapshot;
  await openPrepaidMeter(tx, volume, { name, price, holdId }, at);
}

export async function stopSnapshotBilling(
  tx: Tx,
  volume: BilledVolume,
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

async function closeMetersAt(
  tx: Tx,
  volume: BilledVolume,
  meters: readonly Meter[],
  at: Date,
): Promise<void> {
  const open = meters.filter(isRunning);
  if (open.length === 0) return;
  await changeMeters(
    tx,
    volume.orgId,
    // One that was opened later than that has cost nothing.
    open.map(({ id, openedAt }) => ({
      do: 'close',
      meterId: id,
      at: at < openedAt ? openedAt : at,
      rest: 'waived',
    })),
  );
}

/** Nothing of it costs anything after `at`. */
export async function endVolumeBilling(tx: Tx, volume: BilledVolume, at: Date): Promise<void> {
  await closeMetersAt(tx, volume, await volumeMetersOf(tx, volume), at);
}

/**
 * From `at` on its data is only kept: over what was set aside for that, or with `wantedMs` over what there is, and never
 * beyond what the volume may cost. Nothing more is spent on it. Answers when that ends.
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
  const hold = ratePerHour === 0n ? null : await holdRetention(tx, volume, { name, ratePerHour, forMs });
  const paidMs = hold === null ? null : affordableMs(hold.held, ratePerHour);
  const until = new Date(at.getTime() + Math.min(forMs, Number(paidMs ?? forMs)));
  await openMeters(tx, volume.orgId, [
    {
      mode: volume.mode,
      cause: causeOfVolume(volume),
      name,
      product: 'volume',
      ratePerHour,
      quantity,
      unit: 'gb',
      // Whoever stops keeping it sooner owes nothing for the rest.
      funding: { kind: 'committed', termEndsAt: until, refund: ppm(ppmPerWhole) },
      ...(volume.keyId === null ? {} : { keyId: volume.keyId }),
      ...(hold === null ? {} : { holdId: hold.holdId }),
      at,
    },
  ]);
  return until;
}

/** For how long what a volume may cost, less what it has cost by `at`, pays for it at this rate. */
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

/** As much of it as there is, also where new work is refused. */
async function holdRetention(
  tx: Tx,
  volume: BilledVolume,
  retention: { readonly name: string; readonly ratePerHour: NanoUsd; readonly forMs: number },
): Promise<{ readonly holdId: HoldId; readonly held: NanoUsd }> {
  const [response] = await applyLedger(tx, [
    {
      do: 'hold',
      orgId: volume.orgId,
      mode: volume.mode,
      cause: causeOfVolume(volume),
      step: `keep:${retention.name}`,
      amount: meteredTotal(retention.ratePerHour, retention.forMs),
      atLeast: zeroUsd,
      demand: 'running',
      ...(volume.keyId === null ? {} : { keyId: volume.keyId }),
    },
  ]);
  const { holdId, held } = requireLedgerSuccess(response);
  if (holdId === null) throw new Error(`Nothing could be set aside for keeping volume ${volume.wireId}.`);
  return { holdId, held };
}

/**
 * A volume that was kept for want of money is paid as it goes again, with its snapshots, if the wallet can. False: it
 * cannot, and nothing has changed.
 */
export async function resumeVolumeBilling(tx: Tx, volume: Volume): Promise<boolean> {
  const meters = await volumeMetersOf(tx, volume);
  const meter = retentionMeter(meters);
  if (meter === null) return true;
  const now = tx.clock.now();
  const at = meter.termEndsAt < now ? meter.termEndsAt : now;
  const snapshots = (await listSnapshots(tx, volume.orgId, volume.id)).filter(
    ({ status }) => status === 'ready',
  );
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
 * Sets aside what all of it takes together, and gives it back at once: where that was refused nothing was entered, and
 * where it was not, nobody else can take it before this transaction is over.
 */
async function canAffordItems(
  tx: Tx,
  volume: BilledVolume,
  request: { readonly meter: Meter; readonly sold: readonly MeteredItem[]; readonly funding: MeterFunding },
): Promise<boolean> {
  const { meter, sold, funding } = request;
  const aheadMs = HOLD_WINDOW_MS + (funding.kind === 'ahead' ? (funding.retentionMs ?? 0) : 0);
  const charges = sold.map(({ price }) => roundExact(hourlyCharge(rateOf(price), aheadMs), 'up'));
  const amount = addUsd(zeroUsd, ...charges, nanoUsd(BigInt(ROUNDINGS_PER_METER * sold.length)));
  const { orgId, mode } = volume;
  const [response] = await applyLedger(tx, [
    {
      do: 'hold',
      orgId,
      mode,
      cause: causeOfVolume(volume),
      step: `thaw:${meter.name}`,
      amount,
      demand: 'running',
      ...(volume.keyId === null ? {} : { keyId: volume.keyId }),
    },
  ]);
  if (response?.ok !== true) return false;
  await releaseHold(tx, volume, response.holdId);
  return true;
}

/** Each meter rounds what it sets aside for running and for keeping by itself. */
const ROUNDINGS_PER_METER = 2;
