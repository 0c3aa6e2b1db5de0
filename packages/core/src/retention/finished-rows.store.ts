import type { Tx } from '@millrace/platform/db';
import { sql } from 'kysely';

/** Deletes rows that are finished and older than the period, by the database's clock. Returns their number. */
export async function deleteFinishedRows(
  tx: Tx,
  rule: { readonly table: string; readonly keepDays: number },
  limit: number,
): Promise<number> {
  const { rows } = await sql<{ deleted: number }>`
    select delete_finished_rows(${rule.table}, ${rule.keepDays}, ${limit}) as deleted`.execute(tx.kysely);
  return rows[0]?.deleted ?? 0;
}
