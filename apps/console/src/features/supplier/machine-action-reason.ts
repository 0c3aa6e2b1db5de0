import type { Output } from '@millrace/sdk';

type Machine = Pick<Output<'supplierGetMachine'>, 'drainedAt' | 'gpusRented' | 'status'>;

/** Why a supplier cannot do this with a machine now; false where it can. */
export function machineActionDisabledReason(
  action: 'drain' | 'resume' | 'withdraw',
  machine: Machine,
): string | false {
  const { drainedAt, gpusRented, status } = machine;
  if (status === 'node_removed') return 'It is withdrawn.';
  if (action === 'drain') return drainedAt !== null && 'You drained it already.';
  if (action === 'resume') return drainedAt === null && 'You have not drained it.';
  if (gpusRented === 0) return false;
  const rented = gpusRented === 1 ? 'One GPU is' : `${String(gpusRented)} GPUs are`;
  return `${rented} rented. Drain it and wait until it is empty.`;
}
