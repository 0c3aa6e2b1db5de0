import type { InstanceState } from '@millrace/contract';
import type { RentalRecord } from '../../rentals/index.ts';

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
