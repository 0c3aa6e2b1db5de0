import type { Item } from '@millrace/sdk';

type Machine = Pick<Item<'supplierListMachines'>, 'shown' | 'notShownBecause' | 'status' | 'statusReason'>;

/** Marketplace status of a machine: only a listed and ready one can be rented. */
export function marketStatus({ shown, notShownBecause, status, statusReason }: Machine): {
  readonly tone: 'good' | 'warn';
  readonly label: string;
  readonly why: string | null;
} {
  if (!shown)
    return { tone: 'warn', label: 'not listed', why: notShownBecause ?? 'The machine is incomplete.' };
  if (status === 'node_ready') return { tone: 'good', label: 'listed', why: null };
  const state = status.replace('node_', '');
  const why = `Cannot be rented while it is ${state}${statusReason === null ? '' : `: ${statusReason}`}`;
  return { tone: 'warn', label: `listed, ${state}`, why };
}
