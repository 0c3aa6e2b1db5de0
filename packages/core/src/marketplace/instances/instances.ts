import type { Mode } from '@millrace/platform/envelope';
import type { NodeId, OrgId, RentalId } from '@millrace/platform/ids';
import type { NanoUsd, Ppm } from '@millrace/platform/money';
import type { MachineRecord } from '../listing/machine-record.ts';

/** Data of an instance that its rental does not have. */

/** The machine's record in the listing when it was rented, without its other instances. */
export type MachineSnapshot = Omit<MachineRecord, 'instances'>;

/** Never changes. */
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
