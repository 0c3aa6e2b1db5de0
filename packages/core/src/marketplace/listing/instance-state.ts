import type { InstanceState } from '@millrace/contract';
import type { RentalRecord } from '../../rentals/index.ts';

type RentalStatusFacts = Pick<RentalRecord['rental'], 'status'> & {
  readonly machines: readonly Pick<RentalRecord['machines'][number], 'state'>[];
};

/** A Pending rental is `creating` until its engine has the machine, then `starting`. */
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
