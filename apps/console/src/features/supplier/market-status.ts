import type { Item } from '@millrace/sdk';

type Machine = Pick<Item<'supplierListMachines'>, 'shown' | 'notShownBecause' | 'status' | 'statusReason'>;

/** Only an operator can end a quarantine. */
export const quarantineAdvice = 'Repair the cause, then ask the operator to return the machine to service.';

/** Marketplace status of a machine: only a listed and ready one can be rented. */
export function marketStatus({ shown, notShownBecause, status, statusReason }: Machine): {
  readonly tone: 'good' | 'warn';
  readonly label: string;
  readonly why: string | null;
} {
  const advice = status === 'node_quarantined' ? ` ${quarantineAdvice}` : '';
  if (!shown) {
    const why = `${notShownBecause ?? 'The machine is incomplete.'}${advice}`;
    return { tone: 'warn', label: 'not listed', why };
  }
  if (status === 'node_ready') return { tone: 'good', label: 'listed', why: null };
  const state = status.replace('node_', '');
  const why = `Cannot be rented while it is ${state}${statusReason === null ? '.' : `: ${statusReason}`}${advice}`;
  return { tone: 'warn', label: `listed, ${state}`, why };
}
