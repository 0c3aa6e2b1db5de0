import type { Db, Tx } from '@millrace/platform/db';
import { fromUuid } from '@millrace/platform/ids';
import type { SealContext, Sealer } from '@millrace/platform/secrets';
import { startGeneration } from '../restore/index.ts';
import { historyRow, readHistory, type HistoryRow, type HistoryTable } from './history.ts';
import {
  clearTable,
  disableChecks,
  insertHistoryRows,
  lockOrganisations,
  readMigrations,
  setSequence,
} from './history.store.ts';
import { moveDate, moveInTime } from './move-in-time.ts';

/** Fills a new database with the history of the demo, moved so that it ends now. */

export type LoadResult =
  | { readonly outcome: 'loaded'; readonly rows: number }
  | { readonly outcome: 'in use' }
  | { readonly outcome: 'other migrations' };

/** Columns with secrets, and the row for which each is sealed. */
const sealedColumns: Readonly<
  Record<string, { readonly column: string; rowId(value: (column: string) => string): string }>
> = {
  webhooks: { column: 'secret_sealed', rowId: (value) => fromUuid('whk', value('id')) },
  rental_machines: { column: 'proof_key', rowId: (value) => value('external_id') },
};

/** Changes nothing in a database that has an organisation, or whose migrations are not those of the file. */
export async function loadHistory(
  db: Db,
  { file, sealer }: { readonly file: string; readonly sealer: Sealer },
): Promise<LoadResult> {
  const { header, batches, close } = await readHistory(file);
  return db
    .transaction(
      { name: 'load demo history', isolation: 'read committed' },
      async (tx): Promise<LoadResult> => {
        if (await lockOrganisations(tx)) return { outcome: 'in use' };
        const migrations = await readMigrations(tx);
        if (migrations.join() !== header.migrations.join()) return { outcome: 'other migrations' };
        await disableChecks(tx);
        const byMs = tx.clock.nowMs() - header.endedAt;
        const cleared = new Set<string>();
        let count = 0;
        for await (const { table, rows } of batches) {
          if (!cleared.has(table.table)) await clearTable(tx, table.table);
          cleared.add(table.table);
          const moved = rows.map((line) => movedRow(table, line, { byMs, sealer }));
          await insertHistoryRows(tx, table, moved);
          count += moved.length;
        }
        await setSequences(tx, header.sequences);
        await startGeneration(tx);
        return { outcome: 'loaded', rows: count };
      },
    )
    .finally(close);
}

async function setSequences(tx: Tx, sequences: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(sequences)) await setSequence(tx, name, value);
}

function movedRow(
  table: HistoryTable,
  line: string,
  { byMs, sealer }: { readonly byMs: number; readonly sealer: Sealer },
): HistoryRow {
  const row = historyRow.parse(JSON.parse(moveInTime(line, byMs)));
  const dated = row.map((value, at) =>
    value !== null && table.columns[at]?.[1] === 'date' ? moveDate(value, byMs) : value,
  );
  const sealed = sealedColumns[table.table];
  if (sealed === undefined) return dated;
  const at = (column: string): number => table.columns.findIndex(([name]) => name === column);
  const rowId = sealed.rowId((column) => dated[at(column)] ?? '');
  const context: SealContext = { table: table.table, column: sealed.column, rowId };
  return dated.map((value, index) =>
    value !== null && index === at(sealed.column) ? sealer.seal(value, context) : value,
  );
}
