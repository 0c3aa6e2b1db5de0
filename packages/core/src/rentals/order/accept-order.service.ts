import type { ApiKeyLimits } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { Fault, isFault } from '@millrace/platform/fault';
import type { OrgId } from '@millrace/platform/ids';
import { secondsToMs, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import {
  findCluster,
  isRegionInMode,
  place,
  listConnectionTypes,
  listRegionProviders,
  tenantImages,
  type Placement,
  type PlacementRequest,
} from '../../fleet/index.ts';
import {
  authorizeCaller,
  findSshKeys,
  type ApiKey,
  type AuthorizedCaller,
  type CallContext,
} from '../../identity/index.ts';
import { readBalance } from '../../ledger/index.ts';
import { HOLD_WINDOW_MS, holdForOrder, insufficientBalance } from '../../metering/index.ts';
import {
  diskPriceFor,
  freezeAgreedPrice,
  initialHold,
  quoteFor,
  rateOf,
  type FrozenPrice,
} from '../../prices/index.ts';
import { readKeyRunningTotals } from '../../volumes/index.ts';
import {
  hasAmountLimit,
  faultLabelsOf,
  simulateRejection,
  requireOrderAllowed,
  requireKeyLimits,
  requireWithinMaxUsd,
  resolveTtlSeconds,
  toRentalSpec,
  type InstanceOrder,
  type RentalOrder,
} from './order.ts';
import { requireIdleRule } from './idle-rule.ts';
import { insertMachines } from '../model/machines.store.ts';
import { scheduleSoon } from '../model/rental-transitions.ts';
import { pendingFields, recordPending } from './pending-rental.ts';
import { machinesOfPlacement, offerByKind, toPlacementRequest } from './placement-request.ts';
import { attemptTimeoutMsOf } from '../model/policy.ts';
import { billedRental, isReleasable, scopeOf, type NewMachine, type Rental } from '../model/rental.ts';
import { insertRental } from '../model/rentals.store.ts';
import { insertProvisioningStep } from '../model/provisioning-steps.store.ts';
import { insertTerm } from '../model/terms.store.ts';
import { nextTerm } from '../money/terms.ts';

/**
 * Accepts an order in the caller's transaction: allocates GPUs, holds money, writes the rental and enqueues its reconciling. A
 * rejected order leaves nothing. `wireId` was allocated before the transaction.
 *
 * The organisation's lock serialises creates of one organisation, so that key limits are exact under concurrency and the caller's
 * rights are current. Locks: organisation, capacity, ledger.
 */
export async function createRental(
  tx: Tx,
  call: CallContext,
  order: RentalOrder,
  wireId: number,
): Promise<Rental> {
  return acceptOrder(tx, call, await authorizeCaller(tx, call, scopeOf(order.kind)), order, wireId);
}

/** For callers that are already authorized, because the order depends on what they may use. */
export async function acceptOrder(
  tx: Tx,
  call: CallContext,
  { key }: AuthorizedCaller,
  order: RentalOrder,
  wireId: number,
): Promise<Rental> {
  const { orgId } = call;
  const now = tx.clock.now();
  requireOrderAllowed(order, key.limits);
  const ttlSeconds = resolveTtlSeconds(order, key.limits);
  await requireRegionOffered(tx, key.mode, order);
  simulateRejection(key.mode, order.tags);
  const sshKeys = await sshKeysFor(tx, orgId, key, order);
  const { available } = await readBalance(tx, orgId, key.mode, now);
  const { price, hold } = await priceOrder(tx, orgId, key.mode, { order, available, now });
  requireWithinMaxUsd(order, ttlSeconds, price);
  await requireWithinKeyLimits(tx, key, price);
  // An early check that avoids a placement. The ledger makes the final decision.
  if (hold > zeroUsd && hold > available) throw insufficientBalance(hold, available);

  const expiresAt = ttlSeconds === null ? null : new Date(now.getTime() + secondsToMs(ttlSeconds));
  const placeable = { ...order, id: tx.ids.next('rnt'), orgId, mode: key.mode };
  const only = order.machine?.nodeId ?? null;
  const placement = await placeOrder(tx, toPlacementRequest(placeable, { only, freesAt: expiresAt }));
  const { providerId, machines } = await machinesOfPlacement(tx, orgId, placeable, 1, placement);
  await requireOfferedImage(tx, order, machines);
  const rental = await insertRental(tx, {
    ...placeable,
    ...pendingFields(now, attemptTimeoutMsOf(order)),
    ...scheduleSoon(now),
    maxNanoUsd: order.maxUsd,
    labels: faultLabelsOf(key.mode, order.tags),
    supplier: order.machine?.supplier ?? null,
    publicIdentity: order.machine?.publicIdentity ?? null,
    privateCloud: null,
    steps: 1,
    wireId,
    userId: key.userId,
    keyId: key.id,
    providerId,
    sshKeys,
    diskPrice: await diskPriceOf(tx, orgId, key.mode, { order, machines, now }),
    allocationId: placement.allocationId,
    expiresAt,
  });
  await insertMachines(tx, orgId, machines);
  await insertProvisioningStep(tx, rental, { seq: 1, name: 'place', status: 'done' });
  await recordPending(tx, call.cause, rental, {
    after: {
      kind: rental.kind,
      region: rental.region,
      gpuType: rental.gpuType,
      gpuCount: rental.gpuCount,
      rateNanoUsdPerHour: price.rateNanoUsdPerHour,
    },
  });
  const of = rental.supplier === null ? {} : ({ of: 'paid' } as const);
  const holdId = await holdForOrder(tx, billedRental(rental), { step: 'create', amount: hold, ...of });
  await insertTerm(tx, orgId, rental, { ...nextTerm(order.termType, price), meterName: 'gpu', holdId });
  return rental;
}

const SUGGESTED_IMAGES_MAX = 20;

/** Engines also have images that tenants must not use, so only those in the cluster's settings are accepted. */
async function requireOfferedImage(
  tx: Tx,
  { kind, image }: RentalOrder,
  [machine]: readonly NewMachine[],
): Promise<void> {
  if (image === null || kind === 'instance' || machine === undefined) return;
  const cluster = await findCluster(tx, machine.clusterId);
  const offered = cluster === null ? [] : tenantImages(cluster.settings);
  if (offered.includes(image)) return;
  throw new Fault('IMAGE_NOT_FOUND', {
    message: `The image ${image} is not available for this rental.`,
    suggestion: `Omit image, or choose one of: ${offered.slice(0, SUGGESTED_IMAGES_MAX).join(', ')}.`,
  });
}

/** Checks that the region offers this kind of rental, with the requested ports and idle rule. */
async function requireRegionOffered(tx: Tx, mode: Mode, order: RentalOrder): Promise<void> {
  const { region } = order;
  const isMock = region === 'mock-region';
  if (!isRegionInMode({ mode, machineType: offerByKind[order.kind], region })) {
    throw new Fault('REGION_DISABLED', {
      message: isMock
        ? 'The mock region is for test keys.'
        : 'Test keys can rent virtual machines and marketplace instances only in mock-region.',
      suggestion: isMock ? 'Choose another region, or use a test key.' : 'Use mock-region, or a live key.',
    });
  }
  const { machine } = order;
  const open = (await listRegionProviders(tx, { mode, region, offer: offerByKind[order.kind] })).filter(
    (offer) => offer.open && (machine === null || offer.providerId === machine.providerId),
  );
  if (open.length === 0) throw new Fault('REGION_DISABLED');
  // The provider is not chosen yet, so every candidate must support custom ports.
  if (order.customPorts.length > 0 && !open.every(({ customPorts }) => customPorts)) {
    throw new Fault('CUSTOM_PORTS_NOT_SUPPORTED_FOR_REGION');
  }
  if (order.idle !== null)
    requireIdleRule(
      order,
      open.every(({ gpuUse }) => gpuUse),
    );
}

/** Copies the public keys, so that later changes of the user's keys do not affect the rental. */
async function sshKeysFor(tx: Tx, orgId: OrgId, key: ApiKey, order: RentalOrder): Promise<readonly string[]> {
  const found = await findSshKeys(tx, orgId, key, order.sshKeys);
  if (order.sshKeys !== 'all' && found.length < new Set(order.sshKeys).size) {
    throw new Fault('SSH_KEY_NOT_FOUND');
  }
  if (found.length === 0) throw new Fault('NO_PUBLIC_KEY');
  return found.map(({ publicKey }) => publicKey);
}

interface OrderPrice {
  readonly price: FrozenPrice;
  /** Amount held when the order is accepted. */
  readonly hold: NanoUsd;
}

async function priceOrder(
  tx: Tx,
  orgId: OrgId,
  mode: Mode,
  { order, available, now }: { readonly order: RentalOrder; readonly available: NanoUsd; readonly now: Date },
): Promise<OrderPrice> {
  if (order.machine !== null) {
    const price = agreedPrice(order, mode, now);
    return { price, hold: initialHold(price, HOLD_WINDOW_MS) };
  }
  const { frozen, hold } = await quoteFor(tx, orgId, mode, {
    spec: toRentalSpec(order),
    available,
    // Only the runway depends on the burn rate, and it is not shown here.
    burn: { burnPerHour: zeroUsd, cover: zeroUsd },
    holdWindowMs: HOLD_WINDOW_MS,
    now,
  });
  return { price: frozen.rental, hold };
}

/** The supplier must never earn more than the tenant pays. */
function agreedPrice({ machine, gpusPerNode }: InstanceOrder, mode: Mode, now: Date): FrozenPrice {
  const price = freezeAgreedPrice({ mode, perUnit: machine.pricePerGpuHour, quantity: gpusPerNode, now });
  const { supplier } = machine;
  if (supplier !== null && supplier.ratePerHour > rateOf(price)) {
    throw new Error(
      `The rate ${supplier.ratePerHour} of supplier ${supplier.orgId} exceeds the price ${rateOf(price)} per hour.`,
    );
  }
  return price;
}

/** Only releasable rentals have a disk price. */
async function diskPriceOf(
  tx: Tx,
  orgId: OrgId,
  mode: Mode,
  {
    order,
    machines,
    now,
  }: { readonly order: RentalOrder; readonly machines: readonly NewMachine[]; readonly now: Date },
): Promise<FrozenPrice | null> {
  if (order.machine !== null || !isReleasable(order)) return null;
  return diskPriceFor(tx, orgId, mode, { region: order.region, sizeGb: diskGbOf(machines), now });
}

async function requireWithinKeyLimits(tx: Tx, key: ApiKey, price: FrozenPrice): Promise<void> {
  const limits: ApiKeyLimits = key.limits;
  if (hasAmountLimit(limits))
    requireKeyLimits(limits, await readKeyRunningTotals(tx, key.orgId, key.id), price);
}

/** The tables cannot store more GPUs per node. */
const GPUS_PER_NODE_MAX = 64;

/** Reports an unsupported network instead of missing capacity if no host has the network, because waiting would not help. */
async function placeOrder(tx: Tx, request: PlacementRequest): Promise<Placement> {
  if (request.gpusPerNode > GPUS_PER_NODE_MAX) throw new Fault('INSUFFICIENT_CAPACITY');
  try {
    return await place(tx, request);
  } catch (error) {
    if (!isFault(error) || error.reason !== 'INSUFFICIENT_CAPACITY') throw error;
    const networks = await listConnectionTypes(tx, request);
    if (networks.length > 0 && !networks.includes(request.connectionType)) {
      throw new Fault('NETWORK_TYPE_NOT_SUPPORTED', { cause: error });
    }
    throw error;
  }
}

function diskGbOf(machines: readonly NewMachine[]): number {
  return machines.reduce((sum, { diskGb }) => sum + diskGb, 0);
}
