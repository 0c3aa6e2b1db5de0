import type { InstanceState } from '@millrace/contract';
import type { Mode } from '@millrace/platform/envelope';
import type { NodeId, OrgId, RentalId } from '@millrace/platform/ids';
import type { NanoUsd, Ppm } from '@millrace/platform/money';
import type { RentalRecord } from '../../rentals/index.ts';
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

type RentalStatusFacts = Pick<RentalRecord['rental'], 'status'> & {
  readonly machines: readonly Pick<RentalRecord['machines'][number], 'state'>[];
};

/**
 * The state of an instance follows from that of its rental. What is Pending is being created until its engine has it, and
 * is starting from then on.
 */
export function instanceStateOf({ status, machines }: RentalStatusFacts): InstanceState {
  switch (status) {
    case 'Pending':
      return machines.some(({ state }) => state !== 'wanted') ? 'starting' : 'creating';
    case 'Running':
      return 'online';
    case 'Unknown':
      return 'offline';
    case 'Failed':
      return 'failed';
    case 'Terminating':
      return 'stopping';
    case 'Terminated':
      return 'terminated';
  }
}
