import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';
import { z } from 'zod';

/**
 * The file of the demo's history: JSON lines, compressed with gzip. The first line describes the file, each table follows as a
 * line with its columns and one line per row. Values are texts as PostgreSQL writes them. Secrets are not sealed.
 */

const header = z.strictObject({
  format: z.literal(1),
  /** Names of the migrations that the rows are for. */
  migrations: z.array(z.string()),
  /** The end of the history in Unix milliseconds. */
  endedAt: z.number(),
  /** The node that stopped responding. */
  silentNode: z.string(),
  sequences: z.record(z.string(), z.string()),
});
const tableLine = z.strictObject({
  table: z.string(),
  columns: z.array(z.tuple([z.string(), z.string()])),
});

export type HistoryHeader = z.infer<typeof header>;
export type HistoryTable = z.infer<typeof tableLine>;
export type HistoryRow = readonly (string | null)[];

export interface HistoryReader {
  readonly header: HistoryHeader;
  /** Each batch has rows of one table. */
  readonly batches: AsyncIterable<HistoryBatch>;
  close(): void;
}

interface HistoryBatch {
  readonly table: HistoryTable;
  readonly rows: readonly string[];
}

const BATCH = 500;

export async function readHistory(file: string): Promise<HistoryReader> {
  const stream = createReadStream(file);
  const lines = createInterface({ input: stream.pipe(createGunzip()) })[Symbol.asyncIterator]();
  const first = await lines.next();
  return {
    header: header.parse(JSON.parse(first.value ?? 'null')),
    batches: batchesOf(lines),
    close: () => void stream.destroy(),
  };
}

export async function readHistoryHeader(file: string): Promise<HistoryHeader> {
  const history = await readHistory(file);
  history.close();
  return history.header;
}

async function* batchesOf(lines: AsyncIterator<string>): AsyncGenerator<HistoryBatch> {
  let table: HistoryTable | null = null;
  let rows: string[] = [];
  for (;;) {
    const next = await lines.next();
    const line = next.done === true ? null : next.value;
    const isRow = line?.startsWith('[') === true;
    if (table !== null && rows.length > 0 && (!isRow || rows.length === BATCH)) {
      yield { table, rows };
      rows = [];
    }
    if (line === null) return;
    if (isRow) rows.push(line);
    else table = tableLine.parse(JSON.parse(line));
  }
}

export const historyRow = z.array(z.string().nullable());
