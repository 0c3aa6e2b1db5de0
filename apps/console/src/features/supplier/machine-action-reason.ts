import type { Output } from '@millrace/sdk';

type Machine = Pick<Output<'supplierGetMachine'>, 'drainedAt' | 'gpusRented' | 'status'>;

/** Why an action on a machine is not possible; false if it is. */
export function machineActionDisabledReason(
  action: 'drain' | 'resume' | 'withdraw',
  machine: Machine,
): string | false {
  const { drainedAt, gpusRented, status } = machine;
  if (status === 'node_removed') return 'The machine was withdrawn.';
  if (action === 'drain') return drainedAt !== null && 'The machine is already draining.';
  if (action === 'resume') return drainedAt === null && 'The machine is not drained.';
  if (gpusRented === 0) return false;
  const rented = gpusRented === 1 ? '1 GPU is' : `${String(gpusRented)} GPUs are`;
  return `${rented} rented. Drain the machine and wait until it is empty.`;
}
