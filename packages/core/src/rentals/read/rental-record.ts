import type { ProviderVariant } from '@millrace/contract';
import type { UserId } from '@millrace/platform/ids';
import type { NanoUsd } from '@millrace/platform/money';
import type { AttachedVolume } from '../../volumes/index.ts';
import type { RentalSummary, ProvisioningStep, RentalTerm, ShownMachine } from '../model/rental.ts';

/** All that is shown of a rental, as `readListedRecords` answers it for a whole page and `toWire` shows it. */

/** A machine of the rental's present attempt, also when it is gone by now. */
export interface MachineSummary extends ShownMachine {
  /** Of its node; null before the node was read. */
  readonly cpuModel: string | null;
  readonly gpuFormFactor: 'sxm5' | 'sxm6' | 'pcie' | null;
}

/** Who accepted the rental for the organisation. */
export interface RentalCreator {
  readonly id: UserId;
  readonly name: string | null;
  readonly email: string;
  readonly picture: string | null;
}

export interface RentalRecord {
  readonly rental: RentalSummary;
  /** Of the rental's provider; it decides the shape of `providerData`. */
  readonly variant: ProviderVariant;
  readonly createdBy: RentalCreator;
  /** In the order of their positions. */
  readonly machines: readonly MachineSummary[];
  /** In their order; at least one. */
  readonly terms: readonly RentalTerm[];
  /** The newest of them, oldest first. */
  readonly steps: readonly ProvisioningStep[];
  /** The storage that its machines may use. */
  readonly attached: readonly AttachedVolume[];
  /** What it has cost by the instant of the reading, posted or not. */
  readonly cost: NanoUsd;
}
