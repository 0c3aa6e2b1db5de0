import { inSavepoint, type Reader, type Tx } from '@millrace/platform/db';
import type { Actor } from '@millrace/platform/envelope';
import { isFault } from '@millrace/platform/fault';
import {
  addUsd,
  affordableMs,
  divideRoundDown,
  meteredTotal,
  nanoUsd,
  ppm,
  ppmPerWhole,
  subtractUsd,
  zeroUsd,
  type NanoUsd,
} from '@millrace/platform/money';
import { setFreesAt } from '../../fleet/index.ts';
import { applyLedger, findHold, readBalance, requireLedgerSuccess } from '../../ledger/index.ts';
import {
  changeMeters,
  HOLD_WINDOW_MS,
  holdForRetention,
  listMetersOf,
  openMeters,
  RETENTION_DIVISOR,
  RETENTION_MS,
  type Meter,
  type MeterFunding,
  type MeterSpec,
  type RemainingTermCharge,
} from '../../metering/index.ts';
import { rateOf, termMsOf, type FrozenPrice } from '../../prices/index.ts';
import { saveMachine } from '../model/machines.store.ts';
import { transitionRental } from '../model/rental-transitions.ts';
import { defaultRentalPolicy, deletionLateMsOf } from '../model/policy.ts';
import {
  billedRental,
  causeOfRental,
  currentMachinesOf,
  type Rental,
  type RentalTerm,
  type RentalView,
  type RentalWithTerms,
  rentalsActor,
} from '../model/rental.ts';
import { currentTerm, DISK_PREFIX, freesAt, isDiskMeter, retainedDiskMeter } from './terms.ts';
import { saveTerm } from '../model/terms.store.ts';
import { detachVolumes } from '../model/rental-volumes.ts';

/** Changes meters and holds in the transaction that changes the rental. Locks: rental (held by the caller), then ledger. */

/** All meters of the rental, oldest first, also closed ones. */
export function metersOf(reader: Reader, rental: Rental): Promise<readonly Meter[]> {
  return listMetersOf(reader, rental.orgId, rental.mode, causeOfRental(rental));
}

/** Closes open meters and returns all meters. */
export async function closeMeters(
  tx: Tx,
  rental: Rental,
  end: { readonly at: Date; readonly rest: RemainingTermCharge },
): Promise<readonly Meter[]> {
  const meters = await metersOf(tx, rental);
  const open = meters.filter((meter) => meter.state !== 'closed');
  if (open.length === 0) return meters;
  const closed = await changeMeters(
    tx,
    rental.orgId,
    open.map((meter) => ({ do: 'close', meterId: meter.id, ...end })),
  );
  return meters.map((meter) => closed.find(({ id }) => id === meter.id) ?? meter);
}

/** Releases the holds of terms that never started. */
export async function releaseHolds(tx: Tx, view: RentalView): Promise<void> {
  const { rental } = view;
  const waiting = view.terms.flatMap(({ seq, holdId }) => (holdId === null ? [] : [{ seq, holdId }]));
  const results = await applyLedger(
    tx,
    waiting.map(({ seq, holdId }) => ({
      do: 'close',
      orgId: rental.orgId,
      mode: rental.mode,
      cause: causeOfRental(rental),
      step: `term:${seq}:${holdId}:back`,
      holdId,
    })),
  );
  for (const result of results) requireLedgerSuccess(result);
  for (const { seq } of waiting) await saveTerm(tx, rental.orgId, rental.id, seq, { holdId: null });
}

const diskRateOf = (rental: Rental): NanoUsd =>
  rental.diskPrice === null ? zeroUsd : rateOf(rental.diskPrice);

/** Prepaid hours, plus disk retention as far as the wallet can pay for it. */
function prepaidFunding(rental: Rental, means: NanoUsd, most = means): MeterFunding {
  const retentionRatePerHour = diskRateOf(rental);
  const part = nanoUsd(divideRoundDown(means, RETENTION_DIVISOR));
  const paidMs = affordableMs(part < most ? part : most, retentionRatePerHour);
  return {
    kind: 'ahead',
    retentionMs: Math.min(RETENTION_MS, Number(paidMs ?? RETENTION_MS)),
    retentionRatePerHour,
  };
}

/** The balance that an on-demand term needs, with the full retention of the disk. */
export function requiredBalance(rental: Rental, price: FrozenPrice): bigint {
  const runs = meteredTotal(rateOf(price), HOLD_WINDOW_MS);
  const keeps = meteredTotal(diskRateOf(rental), RETENTION_MS);
  return runs + keeps > RETENTION_DIVISOR * keeps ? runs + keeps : RETENTION_DIVISOR * keeps;
}

async function fundingOf(tx: Tx, rental: Rental, term: RentalTerm, at: Date): Promise<MeterFunding> {
  const { reserve } = term.price;
  if (reserve !== null) {
    const termEndsAt = new Date(at.getTime() + termMsOf(reserve.termPeriodDays));
    return { kind: 'committed', termEndsAt, refund: ppm(reserve.refundPpm) };
  }
  const { available } = await readBalance(tx, rental.orgId, rental.mode, tx.clock.now());
  if (term.holdId !== null) {
    const hold = await findHold(tx, rental.orgId, term.holdId);
    return prepaidFunding(rental, addUsd(available, hold?.held ?? zeroUsd));
  }
  // The meter takes its whole hold now. Disk retention must leave enough for running, or the term is refused.
  const runs = meteredTotal(rateOf(term.price), HOLD_WINDOW_MS);
  const spare = available > runs ? subtractUsd(available, runs) : zeroUsd;
  return prepaidFunding(rental, available, spare);
}

function termMeterSpec(rental: Rental, term: RentalTerm, at: Date, funding: MeterFunding): MeterSpec {
  const { price } = term;
  return {
    mode: rental.mode,
    cause: causeOfRental(rental),
    name: term.meterName,
    product: rental.kind === 'instance' ? 'instance' : 'rental',
    ratePerHour: rateOf(price),
    quantity: price.quantity,
    unit: 'gpu',
    funding,
    demand: 'running',
    supplier: rental.supplier,
    keyId: rental.keyId,
    holdId: term.holdId,
    at,
  };
}

/** Starts the next term at `at`. The separate disk meter ends, because the term includes the disk. */
export async function startBilling(tx: Tx, view: RentalView, at: Date): Promise<void> {
  const { rental } = view;
  await closeMeters(tx, rental, { at, rest: 'waived' });
  await startNextTerm(tx, view, at);
}

/** The new meter takes over the term's hold. Throws the ledger's fault without changes if the balance is insufficient. */
export async function startNextTerm(tx: Tx, view: RentalView, at: Date): Promise<void> {
  const { rental } = view;
  const term = view.terms.find(({ effectiveAt }) => effectiveAt === null);
  if (term === undefined) throw new Error(`Rental ${rental.id} has no term to start.`);
  const funding = await fundingOf(tx, rental, term, at);
  const [meter] = await openMeters(tx, rental.orgId, [termMeterSpec(rental, term, at, funding)]);
  // A rental is not billed while its machine is unreachable, also in a new term.
  if (meter !== undefined && rental.billingPausedAt !== null) {
    await changeMeters(tx, rental.orgId, [{ do: 'pause', meterId: meter.id, at }]);
  }
  const started = { effectiveAt: at, endsAt: meter?.termEndsAt ?? null, holdId: null };
  await saveTerm(tx, rental.orgId, rental.id, term.seq, started);
  const terms = view.terms.map((other) => (other.seq === term.seq ? { ...other, ...started } : other));
  await updateFreesAt(tx, { rental, terms });
}

/** Updates the date at which offers show these GPUs as available again. */
export async function updateFreesAt(tx: Tx, view: RentalWithTerms): Promise<void> {
  const { orgId, allocationId } = view.rental;
  if (allocationId !== null) await setFreesAt(tx, orgId, allocationId, freesAt(view));
}

/** Releases holds and charges nothing after the last healthy time. The caller marks the machines for deletion. */
export async function failRental(
  tx: Tx,
  view: RentalView,
  why: string,
  options: { readonly actor?: Actor; readonly lastGoodSign?: Date } = {},
): Promise<Rental> {
  const now = tx.clock.now();
  const failed = await transitionRental(tx, view.rental, {
    to: 'Failed',
    reason: why,
    actor: options.actor ?? rentalsActor,
    changes: {
      task: 'release',
      taskOptions: {},
      taskDeadlineAt: new Date(now.getTime() + deletionLateMsOf(view.rental)),
      endReason: 'failed',
    },
    data: { reason: why },
  });
  await detachVolumes(tx, failed, options.actor ?? rentalsActor);
  await releaseHolds(tx, { ...view, rental: failed });
  await closeMeters(tx, failed, { at: options.lastGoodSign ?? now, rest: 'waived' });
  return failed;
}

/** After a failed start the rental keeps its disk and is off again, and its newly allocated GPUs are released. */
export async function failStart(tx: Tx, view: RentalView, why: string): Promise<void> {
  const { rental } = view;
  if (rental.startedAt === null) throw new Error(`Rental ${rental.id} never ran. Use failRental instead.`);
  for (const machine of currentMachinesOf(view)) {
    await saveMachine(tx, machine, { state: 'open', proofKey: null, tries: 0, nextTryAt: null });
  }
  const off = await transitionRental(tx, rental, {
    to: 'Running',
    reason: `The start failed and the rental stays off: ${why}`,
    actor: rentalsActor,
    changes: {
      task: 'stop',
      taskOptions: { release: true },
      taskDeadlineAt: new Date(tx.clock.nowMs() + defaultRentalPolicy.powerMs),
      power: 'changing',
    },
    data: { startedAt: rental.startedAt.toISOString() },
  });
  await releaseHolds(tx, { ...view, rental: off });
}

function diskMeterSpec(
  rental: Rental,
  meters: readonly Meter[],
  disk: Pick<MeterSpec, 'at' | 'funding' | 'demand'>,
): MeterSpec {
  const nth = meters.filter(isDiskMeter).length + 1;
  return {
    mode: rental.mode,
    cause: causeOfRental(rental),
    name: `${DISK_PREFIX}${nth}`,
    product: rental.kind === 'instance' ? 'instance' : 'rental',
    ratePerHour: diskRateOf(rental),
    quantity: rental.diskPrice?.quantity ?? 0,
    unit: 'gb',
    keyId: rental.keyId,
    ...disk,
  };
}

/** Bills only the disk from `at` on, after the GPUs were released. */
export async function billDiskOnly(tx: Tx, rental: Rental, at: Date): Promise<void> {
  const meters = await closeMeters(tx, rental, { at, rest: 'waived' });
  const { available } = await readBalance(tx, rental.orgId, rental.mode, tx.clock.now());
  const funding = prepaidFunding(rental, available);
  await openMeters(tx, rental.orgId, [diskMeterSpec(rental, meters, { at, funding, demand: 'rest' })]);
}

/** Bills the disk only from the money held for its retention, and returns when that money ends. */
export async function retainDisk(tx: Tx, rental: Rental, at: Date): Promise<Date> {
  const before = await metersOf(tx, rental);
  const retentions = before.filter(({ state }) => state !== 'closed').map(({ retentionMs }) => retentionMs);
  const wantedMs = Math.max(0, ...retentions);
  const meters = await closeMeters(tx, rental, { at, rest: 'waived' });
  const { name, ratePerHour } = diskMeterSpec(rental, meters, { at, funding: { kind: 'ahead' } });
  const retention = { name, ratePerHour, forMs: wantedMs };
  const hold = ratePerHour === 0n ? null : await holdForRetention(tx, billedRental(rental), retention);
  const paidMs = hold === null ? null : affordableMs(hold.held, ratePerHour);
  const until = new Date(at.getTime() + Math.min(wantedMs, Number(paidMs ?? wantedMs)));
  const funding = { kind: 'committed', termEndsAt: until, refund: ppm(ppmPerWhole) } as const;
  const spec = diskMeterSpec(rental, meters, { at, funding });
  await openMeters(tx, rental.orgId, [{ ...spec, holdId: hold?.holdId ?? null }]);
  return until;
}

/**
 * Returns a retained disk to regular billing if the balance allows it. If disks are free, the wallet must cover one hour of the
 * rental, because a free disk must not be retained forever.
 */
export async function resumeDiskBilling(tx: Tx, view: RentalWithTerms): Promise<boolean> {
  const { rental } = view;
  const meters = await metersOf(tx, rental);
  const retained = retainedDiskMeter(meters);
  if (retained === null) return true;
  const at = retained.termEndsAt < tx.clock.now() ? retained.termEndsAt : tx.clock.now();
  const { available } = await readBalance(tx, rental.orgId, rental.mode, tx.clock.now());
  if (retained.ratePerHour === 0n && available < rateOf(currentTerm(view.terms).price)) return false;
  const funding = prepaidFunding(rental, available);
  const spec = diskMeterSpec(rental, meters, { at, funding, demand: 'running' });
  try {
    // On a refusal the savepoint releases the ledger's locks: callers then take locks that come before them.
    await inSavepoint(tx, () => openMeters(tx, rental.orgId, [spec]));
  } catch (error) {
    if (isFault(error)) return false;
    throw error;
  }
  await changeMeters(tx, rental.orgId, [{ do: 'close', meterId: retained.id, at }]);
  return true;
}
