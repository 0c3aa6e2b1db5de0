import type { Db } from '@millrace/platform/db';
import type { Logger } from '@millrace/platform/log';
import { deleteFinishedRows } from './finished-rows.store.ts';

export interface FinishedRowsRule {
  /** The table, which `delete_finished_rows` also names with the condition of a finished row. */
  readonly table: string;
  readonly keepDays: number;
}

/** Tables whose finished rows are history that no feature needs after some time. */
export const finishedRowsRules: readonly FinishedRowsRule[] = [
  // Dunning does not repeat an action of the same period without money, which ends long before.
  { table: 'required_actions', keepDays: 400 },
  { table: 'rental_steps', keepDays: 400 },
  { table: 'allocated_gpus', keepDays: 400 },
  { table: 'allocated_ports', keepDays: 400 },
];

/** Deletes a batch for each rule. A rule that fails does not stop the others. Returns the largest number of deleted rows. */
export async function deleteFinished(
  db: Db,
  options: { readonly log: Pick<Logger, 'error'>; readonly limit: number },
  rules: readonly FinishedRowsRule[] = finishedRowsRules,
): Promise<number> {
  const counts = [0];
  for (const rule of rules) {
    try {
      counts.push(
        await db.transaction({ name: `delete finished ${rule.table}`, isolation: 'read committed' }, (tx) =>
          deleteFinishedRows(tx, rule, options.limit),
        ),
      );
    } catch (error) {
      options.log.error({ error, table: rule.table }, 'finished rows could not be deleted');
    }
  }
  return Math.max(...counts);
}
