import type { ApiKeyLimits } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { Fault, isFault } from '@millrace/platform/fault';
import { toUuid, type HoldId, type KeyId, type OrgId } from '@millrace/platform/ids';
import { formatUsd, secondsToMs, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import { place, readNetworks, readRegion, type Placement, type PlacementWish } from '../fleet/index.ts';
import { appendAudit, enterAs, findSshKeys, type ApiKey, type KeyCall } from '../identity/index.ts';
import { applyLedger, readBalance, requireDone, type MoneyCause } from '../ledger/index.ts';
import { diskPriceFor, quoteFor, type Quote } from '../prices/index.ts';
import {
  hasAmountLimit,
  HOLD_WINDOW_MS,
  labelsOf,
  requireAllowed,
  requireRoom,
  requireWithinCap,
  timeToLive,
  wishOfOrder,
  type RentalOrder,
} from './create.ts';
import { readKeyLoad } from './create.store.ts';
import { insertMachines, type NewMachine } from './machines.store.ts';
import { callDriver, dueSoon, tellOfRental } from './move.ts';
import { machinesOfPlacement, placementWishOf, type Placeable } from './placing.ts';
import { defaultPolicy } from './policy.ts';
import { MoneyMissing } from './recalled-money.ts';
import { causeOfRental, type Rental } from './rental.ts';
import { insertRental, insertTransition } from './rentals.store.ts';
import { insertStep } from './steps.store.ts';
import { insertTerm } from './terms.store.ts';

/**
 * Accepts an order: exact GPUs, the money for them, the rental's rows, and what happens next, in the caller's one
 * transaction. Refused, it leaves nothing. `wireId` was taken before the transaction.
 *
 * Creates of one organisation take turns from the first statement on, so the limits of a key hold however many come at
 * once, and the caller is who it is now. Locks: the organisation, then capacity, then the ledger.
 */
export async function createRental(
  tx: Tx,
  call: KeyCall,
  order: RentalOrder,
  wireId: number,
): Promise<Rental> {
  const { key } = await enterAs(tx, call, 'rentals:write');
  const { orgId } = call;
  const now = tx.clock.now();
  requireAllowed(order, key.limits);
  const ttlSeconds = timeToLive(order, key.limits);
  await requireOpen(tx, key.mode, order);
  const sshKeys = await requireSshKeys(tx, orgId, key, order);
  const { available } = await readBalance(tx, orgId, key.mode, now);
  const quote = await quoteOrder(tx, orgId, key.mode, { order, available, now });
  const price = quote.frozen.rental;
  requireWithinCap(order, ttlSeconds, price);
  await requireKeyRoom(tx, key, price);
  // The ledger decides; this spares the hosts those who cannot pay.
  if (!quote.affordable) throw unaffordable(quote.hold, available);

  const expiresAt = ttlSeconds === null ? null : new Date(now.getTime() + secondsToMs(ttlSeconds));
  const placeable = placeableOf(tx, orgId, key.mode, order);
  const placement = await placeOrder(tx, placementWishOf(placeable, { freesAt: expiresAt }));
  const { providerId, machines } = await machinesOfPlacement(tx, orgId, placeable, 1, placement);
  const rental = await insertRental(tx, {
    ...placeable,
    ...asAgreed(order, key.mode),
    ...asBegun(now),
    wireId,
    userId: key.userId,
    keyId: key.id,
    providerId,
    sshKeys,
    diskPrice: await diskPriceFor(tx, orgId, key.mode, {
      region: order.region,
      sizeGb: diskGbOf(machines),
      now,
    }),
    allocationId: placement.allocationId,
    expiresAt,
  });
  await insertMachines(tx, orgId, machines);
  await insertStep(tx, rental, { seq: 1, name: 'place', status: 'done' });
  await announce(tx, call, rental, price.rateNanoUsdPerHour);
  const holdId = await takeHold(tx, rental, quote.hold, key.id);
  await insertTerm(tx, orgId, rental, {
    seq: 1,
    termType: order.termType,
    price,
    holdId,
    meterName: 'gpu',
    effectiveAt: null,
    endsAt: null,
  });
  return rental;
}

/** Where the order may be placed, and with the ports it asks for. */
async function requireOpen(tx: Tx, mode: Mode, order: RentalOrder): Promise<void> {
  const { region } = order;
  const isMock = region === 'mock-region';
  if (isMock !== (mode === 'test')) {
    throw new Fault('REGION_DISABLED', {
      message: isMock
        ? 'The mock region is for test keys.'
        : 'Test keys rent in mock-region and nowhere else.',
      suggestion: isMock
        ? 'Choose another region, or use a test key.'
        : 'Ask for mock-region, or use a live key.',
    });
  }
  const open = (await readRegion(tx, { mode, region, offer: order.kind })).filter((offer) => offer.open);
  if (open.length === 0) throw new Fault('REGION_DISABLED');
  // Who takes the order is not known yet, so all who might must be able to open ports.
  if (order.customPorts.length > 0 && !open.every(({ customPorts }) => customPorts)) {
    throw new Fault('CUSTOM_PORTS_NOT_SUPPORTED_FOR_REGION');
  }
}

/** The lines that will let the tenant in: a later change of the person's keys does not touch them. */
async function requireSshKeys(
  tx: Tx,
  orgId: OrgId,
  key: ApiKey,
  order: RentalOrder,
): Promise<readonly string[]> {
  const found = await findSshKeys(tx, orgId, key, order.sshKeys);
  if (order.sshKeys !== 'all' && found.length < new Set(order.sshKeys).size) {
    throw new Fault('SSH_KEY_NOT_FOUND');
  }
  if (found.length === 0) throw new Fault('NO_PUBLIC_KEY');
  return found.map(({ publicKey }) => publicKey);
}

async function quoteOrder(
  tx: Tx,
  orgId: OrgId,
  mode: Mode,
  { order, available, now }: { readonly order: RentalOrder; readonly available: NanoUsd; readonly now: Date },
): Promise<Quote> {
  return quoteFor(tx, orgId, mode, {
    wish: wishOfOrder(order),
    available,
    // Only the runway depends on it, and nobody is shown one here.
    burn: { burnPerHour: zeroUsd, cover: zeroUsd },
    holdWindowMs: HOLD_WINDOW_MS,
    now,
  });
}

async function requireKeyRoom(tx: Tx, key: ApiKey, price: Quote['frozen']['rental']): Promise<void> {
  const limits: ApiKeyLimits = key.limits;
  if (hasAmountLimit(limits)) requireRoom(limits, await readKeyLoad(tx, key.orgId, key.id), price);
}

function unaffordable(hold: NanoUsd, available: bigint): Fault {
  return new Fault('INSUFFICIENT_BALANCE', {
    message: `The available balance does not cover the ${formatUsd(hold)} USD that this would set aside.`,
    cause: new MoneyMissing(hold - available),
  });
}

function placeableOf(tx: Tx, orgId: OrgId, mode: Mode, order: RentalOrder): Placeable {
  const { kind, region, gpuType, connectionType, cuda, gpusPerNode, nodeCount, customPorts } = order;
  return {
    id: tx.ids.next('rnt'),
    orgId,
    mode,
    kind,
    region,
    gpuType,
    connectionType,
    cuda,
    gpusPerNode,
    nodeCount,
    customPorts,
  };
}

/** No host has more, whatever an engine says of it: the rows have no room for them. */
const GPUS_OF_A_NODE_MAX = 64;

/** Where no host has the network that was asked for, waiting for room would be in vain. */
async function placeOrder(tx: Tx, wish: PlacementWish): Promise<Placement> {
  if (wish.gpusPerNode > GPUS_OF_A_NODE_MAX) throw new Fault('INSUFFICIENT_CAPACITY');
  try {
    return await place(tx, wish);
  } catch (error) {
    if (!isFault(error) || error.reason !== 'INSUFFICIENT_CAPACITY') throw error;
    const networks = await readNetworks(tx, wish);
    if (networks.length > 0 && !networks.includes(wish.connectionType)) {
      throw new Fault('NETWORK_TYPE_NOT_SUPPORTED', { cause: error });
    }
    throw error;
  }
}

function diskGbOf(machines: readonly NewMachine[]): number {
  return machines.reduce((sum, { diskGb }) => sum + diskGb, 0);
}

function asAgreed(order: RentalOrder, mode: Mode) {
  const { name, label, tags, image, userData, monitoring, convertOnExpiry, idle, maxUsd } = order;
  const labels = labelsOf(mode, tags);
  return {
    name,
    label,
    tags,
    image,
    userData,
    monitoring,
    convertOnExpiry,
    idle,
    maxNanoUsd: maxUsd,
    labels,
  };
}

/** Pending, with everything still to be done and nothing yet owed. */
function asBegun(now: Date) {
  return {
    status: 'Pending',
    statusReason: null,
    statusSince: now,
    task: 'provision',
    taskOptions: {},
    taskDeadlineAt: new Date(now.getTime() + defaultPolicy.attemptMs),
    power: 'changing',
    gpuHeld: true,
    attempt: 1,
    firstAttempt: 1,
    troubleSince: null,
    billingPausedAt: null,
    createdAt: now,
    updatedAt: null,
    startedAt: null,
    endAcceptedAt: null,
    endedAt: null,
    endReason: null,
    toldExpiringAt: null,
    steps: 1,
    ...dueSoon(now),
  } as const;
}

async function announce(tx: Tx, { orgId, cause }: KeyCall, rental: Rental, rate: string): Promise<void> {
  const { actor } = cause;
  const { wireId, region, gpuType, gpuCount, kind } = rental;
  await insertTransition(tx, rental, {
    from: null,
    to: 'Pending',
    reason: null,
    actor: `${actor.kind}:${actor.id}`,
    at: rental.createdAt,
  });
  await appendAudit(tx, orgId, cause, {
    action: 'rental.created',
    resource: { kind: 'rental', id: String(wireId) },
    after: { externalId: toUuid(rental.id), kind, region, gpuType, gpuCount, rateNanoUsdPerHour: rate },
  });
  await tellOfRental(tx, rental, { type: 'rental.pending', actor });
  await callDriver(tx, rental, actor);
}

/** Null where there is nothing to set aside: in test mode, or at a price of nothing. */
async function takeHold(tx: Tx, rental: Rental, amount: NanoUsd, keyId: KeyId): Promise<HoldId | null> {
  if (amount === zeroUsd) return null;
  const cause: MoneyCause = causeOfRental(rental);
  const { orgId, mode } = rental;
  const [result] = await applyLedger(tx, [
    { do: 'hold', orgId, mode, cause, step: 'create', amount, demand: 'new', keyId },
  ]);
  if (result?.ok === false && result.reason === 'INSUFFICIENT_BALANCE') {
    throw unaffordable(amount, result.available ?? 0n);
  }
  return requireDone(result).holdId;
}
