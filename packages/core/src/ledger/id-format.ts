import { fromUuid, type BudgetId, type HoldId, type TransferId } from '@millrace/platform/ids';

/** How ids, which are UUIDs inside a slice, are spelled for callers. */
export const ids = {
  transfer: (uuid: string): TransferId => fromUuid('trf', uuid),
  hold: (uuid: string): HoldId => fromUuid('hld', uuid),
  budget: (uuid: string): BudgetId => fromUuid('bdg', uuid),
} as const;
