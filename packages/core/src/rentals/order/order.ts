import type { ApiKeyLimits, Body, Contract, GpuType } from '@millrace/contract';
import { userDataKind } from '@millrace/compute';
import type { Mode } from '@millrace/platform/envelope';
import { Fault, invalidField } from '@millrace/platform/fault';
import { parseId, type NodeId, type SshKeyId } from '@millrace/platform/ids';
import { formatUsd, secondsToMs, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import {
  parseCudaRequirement,
  GPUS_PER_METAL_NODE,
  nodeLayoutOf,
  type FleetGpuType,
} from '../../fleet/index.ts';
import { commitmentOf, durationCost, rateOf, type FrozenPrice, type RentalSpec } from '../../prices/index.ts';
import {
  keyLimitExceeded,
  requireKeySpendLimit,
  requireMaxUsd,
  type KeyRunningTotals,
} from '../../volumes/index.ts';
import type { IdleRule, RentalKind, RentalSupplier, PublicIdentity } from '../model/rental.ts';

/** Converts requests to orders and checks them against the limits of their key. Pure. */

/** Fields of all kinds of orders, independent of their names in the API. */
interface OrderBase {
  readonly gpusPerNode: number;
  readonly nodeCount: number;
  readonly connectionType: 'ethernet' | 'infiniband';
  readonly cuda: number | null;
  readonly termType: 'on-demand' | 'reserved';
  readonly termPeriodDays: number | null;
  readonly discountPercentage: number;
  readonly convertOnExpiry: boolean;
  readonly monitoring: boolean;
  readonly customPorts: readonly number[];
  readonly name: string | null;
  readonly label: string | null;
  readonly tags: Readonly<Record<string, string>>;
  readonly image: string | null;
  readonly userData: string | null;
  /** `all`: every key of the user who orders. */
  readonly sshKeys: readonly SshKeyId[] | 'all';
  readonly ttlSeconds: number | null;
  readonly maxUsd: NanoUsd | null;
  readonly idle: IdleRule | null;
}

/** An order at the list price, for which any host is suitable. */
export interface ListPriceOrder extends OrderBase {
  readonly kind: Exclude<RentalKind, 'instance'>;
  readonly region: RentalSpec['region'];
  readonly gpuType: GpuType;
  readonly machine: null;
}

/** An on-demand order of one machine that the tenant chose, at the price in the listing. */
export interface InstanceOrder extends OrderBase {
  readonly kind: 'instance';
  readonly region: string;
  readonly gpuType: FleetGpuType;
  readonly nodeCount: 1;
  readonly termType: 'on-demand';
  readonly machine: ChosenMachine;
}

export type RentalOrder = ListPriceOrder | InstanceOrder;

export interface ChosenMachine {
  readonly nodeId: NodeId;
  readonly providerId: string;
  readonly pricePerGpuHour: NanoUsd;
  /** Null if the operator owns the machine. */
  readonly supplier: RentalSupplier | null;
  readonly publicIdentity: PublicIdentity;
}

type VirtualMachineBody = Body<Contract['operations']['createVirtualMachineRental']>;
type BareMetalBody = Body<Contract['operations']['createBareMetalRental']>;

const LABEL_MAX = 1_000;

export function toVirtualMachineOrder(body: VirtualMachineBody): ListPriceOrder {
  return {
    ...commonOrderFields(body),
    kind: 'virtual-machine',
    region: body.region,
    gpusPerNode: body.gpuCount,
    nodeCount: 1,
    cuda: null,
    customPorts: [...new Set(body.customPorts ?? [])],
  };
}

/** Whole nodes have their own addresses, so no ports are requested. */
export function toBareMetalOrder(body: BareMetalBody): ListPriceOrder {
  const shape = nodeLayoutOf('bare-metal', body.gpuCount);
  if (shape === null) throw invalidField('gpuCount', `must be a multiple of ${GPUS_PER_METAL_NODE}`);
  return {
    ...commonOrderFields(body),
    kind: 'bare-metal',
    region: body.region,
    gpusPerNode: shape.gpusPerNode,
    nodeCount: shape.nodeCount,
    cuda: parseCudaRequirement(body.cudaVersion),
    customPorts: [],
  };
}

function commonOrderFields(body: VirtualMachineBody | BareMetalBody) {
  return {
    gpuType: body.gpuType,
    machine: null,
    connectionType: body.networkType,
    termType: body.termType,
    termPeriodDays: body.termPeriodDays ?? null,
    discountPercentage: body.discountPercentage,
    convertOnExpiry: body.convertToOnDemandOnExpiry,
    monitoring: body.monitoringEnabled ?? false,
    name: body.name ?? null,
    label: requireLabel(body.label),
    tags: body.tags ?? {},
    image: requireImage(body.image),
    userData: requireUserData(body.userData),
    sshKeys: requireSshKeyIds(body.sshKeyIds),
    ttlSeconds: body.ttlSeconds ?? null,
    maxUsd: body.maxUsd === undefined ? null : requireMaxUsd(body.maxUsd),
    idle: body.idle ?? null,
  };
}

/** The interface does not limit labels, but the table does. */
export function requireLabel(label: string | undefined): string | null {
  if (label === undefined) return null;
  if (label.length > LABEL_MAX) throw invalidField('label', `must have at most ${LABEL_MAX} characters`);
  return label;
}

const imagePattern = /^[A-Za-z0-9](?:[A-Za-z0-9._:/-]{0,253}[A-Za-z0-9])?$/;

/** Rejects names that no engine accepts. The cluster's settings decide whether the image is available. */
export function requireImage(image: string | undefined): string | null {
  if (image === undefined) return null;
  const isName = imagePattern.test(image) && !image.includes('..') && !image.includes('//');
  if (!isName) throw new Fault('IMAGE_NOT_FOUND');
  return image;
}

/** Rejects user data that no machine can start, so that the rental does not fail later. Empty text counts as none. */
export function requireUserData(userData: string | undefined, field = 'userData'): string | null {
  if (userData === undefined || userData.trim() === '') return null;
  if (userDataKind(userData) !== null) return userData;
  throw invalidField(
    field,
    'must begin with #! (a program, which runs once as root) or with a line #cloud-config',
  );
}

export function requireSshKeyIds(texts: readonly string[] | undefined): RentalOrder['sshKeys'] {
  return texts === undefined ? 'all' : texts.map(requireSshKeyId);
}

function requireSshKeyId(text: string): SshKeyId {
  const id = parseId('ssh', text);
  if (id === null) throw new Fault('SSH_KEY_NOT_FOUND');
  return id;
}

export function toRentalSpec(order: ListPriceOrder): RentalSpec {
  return {
    rentalType: order.kind,
    gpuCount: order.gpusPerNode * order.nodeCount,
    gpuType: order.gpuType,
    region: order.region,
    networkType: order.connectionType,
    termType: order.termType,
    discountPercentage: order.discountPercentage,
    ...(order.termPeriodDays === null ? {} : { termPeriodDays: order.termPeriodDays }),
  };
}

const faultLabelPattern = /^millrace\.fault(?:\.[a-z][a-z0-9_-]{0,40})?$/;

/** Only tags that inject faults into mock machines are passed to the engine, and none in live mode. */
export function faultLabelsOf(mode: Mode, tags: RentalOrder['tags']): Readonly<Record<string, string>> {
  if (mode === 'live') return {};
  return Object.fromEntries(Object.entries(tags).filter(([key]) => faultLabelPattern.test(key)));
}

/** Faults of the platform that a test key can request, because no engine can simulate them. */
const simulatedRefusals: ReadonlyMap<string, 'INSUFFICIENT_CAPACITY' | 'INSUFFICIENT_BALANCE'> = new Map([
  ['no-capacity', 'INSUFFICIENT_CAPACITY'],
  ['no-balance', 'INSUFFICIENT_BALANCE'],
] as const);

export function simulateRejection(mode: Mode, tags: RentalOrder['tags']): void {
  const name: string = faultLabelsOf(mode, tags)['millrace.fault'] ?? '';
  const reason = simulatedRefusals.get(name);
  if (reason !== undefined) throw new Fault(reason);
}

const secondsPerDay = 86_400;

/** TTL in seconds from acceptance; null for none. A key's maximum duration also applies to orders without TTL. */
export function resolveTtlSeconds(
  order: RentalOrder,
  limits: Pick<ApiKeyLimits, 'maxRentalSeconds'>,
): number | null {
  const { maxRentalSeconds: longest } = limits;
  const { ttlSeconds } = order;
  if (longest === null) return ttlSeconds;
  const termSeconds = order.termType === 'reserved' ? (order.termPeriodDays ?? 0) * secondsPerDay : 0;
  const wanted = Math.max(ttlSeconds ?? 0, termSeconds);
  if (wanted > longest) {
    throw keyLimitExceeded(
      'maxRentalSeconds',
      `This API key limits rentals to ${longest} seconds. Use a shorter TTL or term, or another key.`,
    );
  }
  return ttlSeconds ?? longest;
}

/** Checks the regions and GPU types of the key. */
export function requireOrderAllowed(
  order: RentalOrder,
  limits: Pick<ApiKeyLimits, 'regions' | 'gpuTypes'>,
): void {
  const { regions, gpuTypes } = limits;
  if (regions !== null && !(regions as readonly string[]).includes(order.region)) {
    throw keyLimitExceeded('regions', `This API key does not allow rentals in ${order.region}.`);
  }
  if (gpuTypes !== null && !(gpuTypes as readonly string[]).includes(order.gpuType)) {
    const what = order.gpuType === 'other' ? 'GPUs of other types' : order.gpuType;
    throw keyLimitExceeded('gpuTypes', `This API key does not allow ${what}.`);
  }
}

export function hasAmountLimit(limits: Pick<ApiKeyLimits, 'maxLiveRentals' | 'maxUsdPerHour'>): boolean {
  return limits.maxLiveRentals !== null || limits.maxUsdPerHour !== null;
}

export function requireKeyLimits(
  limits: Pick<ApiKeyLimits, 'maxLiveRentals' | 'maxUsdPerHour'>,
  load: KeyRunningTotals,
  price: FrozenPrice,
): void {
  const { maxLiveRentals } = limits;
  if (maxLiveRentals !== null && load.liveRentals >= maxLiveRentals) {
    throw keyLimitExceeded(
      'maxLiveRentals',
      `This API key allows ${maxLiveRentals} rentals at a time and has ${load.liveRentals}. Terminate one first.`,
    );
  }
  requireKeySpendLimit(limits, load, rateOf(price));
}

/** A limit that ends the rental sooner makes it useless. */
const MIN_USE_SECONDS = 60;

/** Checks `maxUsd` against the known cost: the whole term or TTL, or one minute. Reached later, the limit ends the rental. */
export function requireWithinMaxUsd(order: RentalOrder, ttlSeconds: number | null, price: FrozenPrice): void {
  const { maxUsd } = order;
  if (maxUsd === null) return;
  const seconds = order.ttlSeconds === null ? MIN_USE_SECONDS : (ttlSeconds ?? MIN_USE_SECONDS);
  const known = price.reserve === null ? durationCost(price, secondsToMs(seconds)) : commitmentOf(price);
  if (known > maxUsd && known > zeroUsd) {
    throw new Fault('MAX_USD_EXCEEDED', {
      message: `This rental would cost ${formatUsd(known)} USD, more than maxUsd (${formatUsd(maxUsd)}). Raise maxUsd or shorten the rental.`,
    });
  }
}
