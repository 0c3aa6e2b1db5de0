import type { ProviderVariant } from '@millrace/contract';
import type { UserId } from '@millrace/platform/ids';
import type { NanoUsd } from '@millrace/platform/money';
import type { LivePriceLookup } from '../../prices/index.ts';
import type { AttachedVolume } from '../../volumes/index.ts';
import type { RentalSummary, ProvisioningStep, RentalTerm, ShownMachine } from '../model/rental.ts';

/** Everything that is shown of a rental, read for whole pages and converted by `rentals.wire.ts`. */

/** A machine of the current attempt, also after its deletion. */
export interface MachineSummary extends ShownMachine {
  /** CPU model of the node; null before the node was read. */
  readonly cpuModel: string | null;
  readonly gpuFormFactor: 'sxm5' | 'sxm6' | 'pcie' | null;
}

export interface RentalCreator {
  readonly id: UserId;
  readonly name: string | null;
  readonly email: string;
  readonly picture: string | null;
}

export interface RentalRecord {
  readonly rental: RentalSummary;
  /** Variant of the provider; decides the schema of `providerData`. */
  readonly variant: ProviderVariant;
  readonly createdBy: RentalCreator;
  /** Ordered by position. */
  readonly machines: readonly MachineSummary[];
  /** In order; at least one. */
  readonly terms: readonly RentalTerm[];
  /** The newest steps, oldest first. */
  readonly steps: readonly ProvisioningStep[];
  readonly attached: readonly AttachedVolume[];
  /** Cost at the time of reading, posted or not. */
  readonly cost: NanoUsd;
  /** Null in live mode. */
  readonly livePrices: LivePriceLookup | null;
}
