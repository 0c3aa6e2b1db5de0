import type { Mode } from '@millrace/platform/envelope';
import type { ClusterId, NodeId, OrgId, SupplierId } from '@millrace/platform/ids';
import { fromUsdNumber, type NanoUsd, type Ppm } from '@millrace/platform/money';

/** Machines on the marketplace, and who is paid for them. Pure. */

export type MachineStage = 'trusting' | 'inspecting' | 'testing' | 'enrolled' | 'refused' | 'withdrawn';
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
export function priceOfSettings(settings: unknown): NanoUsd | null {
  if (typeof settings !== 'object' || settings === null || !('pricePerGpuHourUsd' in settings)) return null;
  const { pricePerGpuHourUsd: usd } = settings;
  const price = typeof usd === 'number' ? fromUsdNumber(usd) : null;
  return price === null || price < 0n ? null : price;
}
