import type { Mode } from '@millrace/platform/envelope';
import type { ClusterId, EnrolmentId, NodeId, OrgId, SupplierId } from '@millrace/platform/ids';
import { formatUsd, fromUsdNumber, nanoUsd, type NanoUsd, type Ppm } from '@millrace/platform/money';
import type { EnrolmentStage, SupplierStatus } from '../account/suppliers.ts';

export type MachineApproval = 'pending' | 'approved' | 'rejected';

/**
 * A machine that is for rent: its supplier, the operator and the price rules agree. The fleet says whether it has free
 * GPUs.
 */
export interface ListedMachine {
  readonly nodeId: NodeId;
  readonly clusterId: ClusterId;
  /** The cluster name on the marketplace, which tenants name beside the machine's id. */
  readonly clusterName: string;
  readonly region: string;
  readonly mode: Mode;
  readonly pricePerGpuHour: NanoUsd;
  /** Null for a machine of the operator, whose earnings are all revenue. */
  readonly supplier: MachineSupplier | null;
}

export interface MachineSupplier {
  readonly id: SupplierId;
  readonly orgId: OrgId;
  readonly feePpm: Ppm;
}

/** The price in the settings of an operator's marketplace cluster; null if there is none. */
export function priceFromSettings(settings: unknown): NanoUsd | null {
  if (typeof settings !== 'object' || settings === null || !('pricePerGpuHourUsd' in settings)) return null;
  const { pricePerGpuHourUsd: usd } = settings;
  const price = typeof usd === 'number' ? fromUsdNumber(usd) : null;
  return price === null || price < 0n ? null : price;
}

export interface SupplierMachine {
  readonly id: EnrolmentId;
  readonly nodeId: NodeId;
  readonly clusterId: ClusterId;
  readonly supplierId: SupplierId;
  readonly orgId: OrgId;
  readonly name: string;
  readonly clusterName: string;
  readonly region: string;
  readonly stage: EnrolmentStage;
  readonly approval: MachineApproval;
  readonly approvalReason: string | null;
  readonly listed: boolean;
  /** Time since which its supplier has drained it. */
  readonly drainedAt: Date | null;
  readonly pricePerGpuHour: NanoUsd | null;
  readonly recentPrice: RecentPrice | null;
  readonly joinedAt: Date;
  readonly supplierStatus: SupplierStatus;
  readonly isOrganisationActive: boolean;
}

/** The reason for its supplier why a machine is not for rent; null exactly if `readListedMachines` includes it. */
export function reasonNotForRent(machine: SupplierMachine): string | null {
  if (machine.stage === 'withdrawn') return 'The machine was withdrawn.';
  if (machine.stage !== 'enrolled') return 'The machine has not passed its tests yet.';
  if (machine.supplierStatus !== 'approved')
    return `The supplier account is ${machine.supplierStatus}, not approved.`;
  if (!machine.isOrganisationActive) return 'The organisation is suspended.';
  if (machine.approval === 'rejected') return 'The operator refused the machine.';
  if (machine.approval === 'pending') return 'The operator has not approved the machine yet.';
  if (machine.pricePerGpuHour === null) return 'The machine has no price.';
  return machine.listed ? null : 'Its supplier does not list the machine.';
}

/** The lowest price listed shortly before a raise or an unlisting. */
export interface RecentPrice {
  readonly pricePerGpuHour: NanoUsd;
  /** New rentals pay at most the recent price before this time. */
  readonly until: Date;
}

/** Long enough for a tenant to look at the list and decide. */
const RECENT_PRICE_MS = 60_000;

const isRecent = ({ until }: RecentPrice, now: Date): boolean => now < until;

type MachineListing = Pick<SupplierMachine, 'listed' | 'pricePerGpuHour'>;

/**
 * The lowest listed price that applies for another minute after a change. Each raise and each unlisting restarts the
 * minute, so that no sequence of changes charges a price that no tenant could have seen. A lower price applies at once.
 */
export function nextRecentPrice(
  before: MachineListing & Pick<SupplierMachine, 'recentPrice'>,
  after: MachineListing,
  now: Date,
): RecentPrice | null {
  const { recentPrice, pricePerGpuHour: was } = before;
  const standing = recentPrice !== null && isRecent(recentPrice, now) ? recentPrice : null;
  const isRaised = was !== null && after.pricePerGpuHour !== null && after.pricePerGpuHour > was;
  if (was === null || !before.listed || (!isRaised && after.listed)) return standing;
  const least = standing !== null && standing.pricePerGpuHour < was ? standing.pricePerGpuHour : was;
  return { pricePerGpuHour: least, until: new Date(now.getTime() + RECENT_PRICE_MS) };
}

/** The present price, or the recent one if it is lower. */
export function rentalPrice(price: NanoUsd, recentPrice: RecentPrice | null, now: Date): NanoUsd {
  const isLess = recentPrice !== null && recentPrice.pricePerGpuHour < price;
  return isLess && isRecent(recentPrice, now) ? recentPrice.pricePerGpuHour : price;
}

/** Limits of the price of one GPU-hour, set by the operator. */
export interface PriceRules {
  readonly least: NanoUsd;
  readonly most: NanoUsd;
}

/** One cent to a thousand dollars: without rules of the operator, at least typing errors are refused. */
export const defaultPriceRules = { least: nanoUsd(10_000_000n), most: nanoUsd(1_000_000_000_000n) };

export function problemWithPrice(price: NanoUsd, { least, most }: PriceRules): string | null {
  return price < least || price > most
    ? `must be ${formatUsd(least)} to ${formatUsd(most)} USD for an hour of one GPU (${least} to ${most} nano-USD)`
    : null;
}
