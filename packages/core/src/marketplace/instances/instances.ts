import type { Mode } from '@millrace/platform/envelope';
import type { NodeId, OrgId, RentalId } from '@millrace/platform/ids';
import type { NanoUsd, Ppm } from '@millrace/platform/money';
import type { MachineRecord } from '../listing/machine-record.ts';

/** Instances: rentals of machines that their tenants chose. What a rental knows is not kept here again. Pure. */

/** A machine as the listing showed it when it was rented, without what stood on it. */
export type MachineSnapshot = Omit<MachineRecord, 'instances'>;

/** What an instance has beyond its rental. Never changes. */
export interface Instance {
  readonly rentalId: RentalId;
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly name: string;
  readonly nodeId: NodeId;
  readonly clusterName: string;
  readonly pricePerGpuHour: NanoUsd;
  readonly fee: Ppm;
  readonly machine: MachineSnapshot;
}
