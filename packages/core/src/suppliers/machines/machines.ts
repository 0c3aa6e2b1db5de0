import type { Mode } from '@millrace/platform/envelope';
import type { ClusterId, EnrolmentId, NodeId, OrgId, SupplierId } from '@millrace/platform/ids';
import { formatUsd, fromUsdNumber, nanoUsd, type NanoUsd, type Ppm } from '@millrace/platform/money';
import type { EnrolmentStage, SupplierStatus } from '../account/suppliers.ts';

/** Machines on the marketplace, and who is paid for them. Pure. */

export type MachineApproval = 'pending' | 'approved' | 'rejected';

/**
 * A machine that is for rent: whoever has a say agreed to that. Whether it takes work at this moment, and how many of
 * its GPUs are free, is the fleet's to say.
 */
export interface ListedMachine {
  readonly nodeId: NodeId;
  readonly clusterId: ClusterId;
  /** The name of its cluster on the marketplace: what a tenant has to say beside the machine's id. */
  readonly clusterName: string;
  readonly region: string;
  readonly mode: Mode;
  readonly pricePerGpuHour: NanoUsd;
  /** Null: it is the operator's own, and all that it earns is revenue. */
  readonly supplier: MachineSupplier | null;
}

export interface MachineSupplier {
  readonly id: SupplierId;
  readonly orgId: OrgId;
  /** The operator's part of each charge. */
  readonly feePpm: Ppm;
}

/** The price of a cluster that the operator put on the marketplace, from its settings; null where they name none. */
export function priceFromSettings(settings: unknown): NanoUsd | null {
  if (typeof settings !== 'object' || settings === null || !('pricePerGpuHourUsd' in settings)) return null;
  const { pricePerGpuHourUsd: usd } = settings;
  const price = typeof usd === 'number' ? fromUsdNumber(usd) : null;
  return price === null || price < 0n ? null : price;
}

/** A supplier's machine as it and operators see it, from the moment that its node is known. */
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
  /** Its supplier offers it. */
  readonly listed: boolean;
  /** Since when its supplier has taken it out of use. */
  readonly drainedAt: Date | null;
  readonly pricePerGpuHour: NanoUsd | null;
  readonly recentPrice: RecentPrice | null;
  readonly joinedAt: Date;
  readonly supplierStatus: SupplierStatus;
  readonly isOrganisationActive: boolean;
}

/** Why a machine is not on the marketplace, in words for its supplier, or null where it is: as `readListedMachines`. */
export function reasonNotForRent(machine: SupplierMachine): string | null {
  if (machine.stage === 'withdrawn') return 'It was withdrawn.';
  if (machine.stage !== 'enrolled') return 'It has not passed its tests yet.';
  if (machine.supplierStatus !== 'approved')
    return `The supplier is ${machine.supplierStatus}, not approved.`;
  if (!machine.isOrganisationActive) return 'The organisation is suspended.';
  if (machine.approval === 'rejected') return 'The operator has refused it.';
  if (machine.approval === 'pending') return 'The operator has not approved it yet.';
  if (machine.pricePerGpuHour === null) return 'It has no price.';
  return machine.listed ? null : 'Its supplier does not list it.';
}

/** The least that was asked shortly before a price was raised or a machine was taken off the list. */
export interface RecentPrice {
  readonly pricePerGpuHour: NanoUsd;
  /** Whoever rents it before this pays no more. */
  readonly until: Date;
}

/** For so long whoever rents pays no more than what was shown: long enough to look at the list and decide. */
const RECENT_PRICE_MS = 60_000;

const isRecent = ({ until }: RecentPrice, now: Date): boolean => now < until;

type MachineListing = Pick<SupplierMachine, 'listed' | 'pricePerGpuHour'>;

/**
 * What of the prices that were shown counts for another minute once the offer changes. Every raise, and every time that
 * the machine is taken off the list, begins the minute anew, so that no sequence of them makes a tenant pay a price that
 * nobody could have seen. A lower price counts at once, and one that was never shown not at all.
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

/** What whoever rents now pays: the price, or what was shown a moment ago where that is less. */
export function rentalPrice(price: NanoUsd, recentPrice: RecentPrice | null, now: Date): NanoUsd {
  const isLess = recentPrice !== null && recentPrice.pricePerGpuHour < price;
  return isLess && isRecent(recentPrice, now) ? recentPrice.pricePerGpuHour : price;
}

/** The operator's rules about prices: the least and the most that an hour of one GPU may cost. */
export interface PriceRules {
  readonly least: NanoUsd;
  readonly most: NanoUsd;
}

/** A cent, and a thousand dollars. Where the operator says nothing, a price is at least no slip of the hand. */
export const defaultPriceRules = { least: nanoUsd(10_000_000n), most: nanoUsd(1_000_000_000_000n) };

/** What is wrong with a price, or null. */
export function problemWithPrice(price: NanoUsd, { least, most }: PriceRules): string | null {
  return price < least || price > most
    ? `must be ${formatUsd(least)} to ${formatUsd(most)} USD for an hour of one GPU (${least} to ${most} nano-USD)`
    : null;
}
