import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { fromUuid } from '@millrace/platform/ids';
import { createSealer } from '@millrace/platform/secrets';
import { Client } from 'pg';
import { demoSealingKey } from './cloud.ts';

/** Writes the history as the file that `loadHistory` reads. */

/** State of running processes, and rows that belong to one database. */
const leftOut: ReadonlySet<string> = new Set([
  ...['schema_migrations', 'restore_state', 'relay_leases', 'relays', 'cluster_observers', 'loop_items'],
  ...['usage_sinks', 'usage_watermarks', 'sessions', 'verifications', 'idempotency_keys', 'outbox'],
  ...['pot_gateways', 'pot_lease_gateways', 'pot_servers', 'listing_changes', 'inference_checkpoints'],
]);

const sealer = createSealer({ keys: [demoSealingKey], activeId: demoSealingKey.id });

export interface HistoryEnd {
  readonly endedAt: number;
  readonly silentNode: string;
}

export async function dumpHistory(
  databaseUrl: string,
  { file, ...end }: HistoryEnd & { readonly file: string },
): Promise<number> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(`set timezone = 'UTC'`);
    const lines: string[] = [JSON.stringify(await headerOf(client, end))];
    for (const table of await listTables(client)) lines.push(...(await linesOf(client, table, end.endedAt)));
    writeFileSync(file, gzipSync(`${lines.join('\n')}\n`, { level: 9 }));
    return lines.length;
  } finally {
    await client.end();
  }
}

async function headerOf(client: Client, { endedAt, silentNode }: HistoryEnd): Promise<object> {
  const migrations = await client.query<{ name: string }>(
    'select name from schema_migrations order by version',
  );
  const sequences = await client.query<{ name: string; value: string }>(
    `select schemaname || '.' || sequencename as name, last_value::text as value from pg_sequences
      where schemaname = 'public' and last_value is not null order by 1`,
  );
  return {
    format: 1,
    migrations: migrations.rows.map(({ name }) => name),
    endedAt,
    silentNode,
    sequences: Object.fromEntries(sequences.rows.map(({ name, value }) => [name, value])),
  };
}

/** Ordinary tables and roots of partitioned ones. */
async function listTables(client: Client): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
        and not relispartition order by relname`,
  );
  return rows.map(({ name }) => name).filter((name) => !leftOut.has(name));
}

interface Column {
  readonly name: string;
  readonly type: string;
}

async function linesOf(client: Client, table: string, endedAt: number): Promise<readonly string[]> {
  const { rows: columns } = await client.query<Column>(
    `select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
      where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    [`public."${table}"`],
  );
  const list = columns.map(({ name }) => `"${name}"::text`).join(', ');
  const { rows } = await client.query<(string | null)[]>({
    text: `select ${list} from "${table}" order by ${columns.map((_, at) => at + 1).join(', ')}`,
    rowMode: 'array',
  });
  if (rows.length === 0) return [];
  const head = { table, columns: columns.map(({ name, type }) => [name, type]) };
  const writtenRow = (row: readonly (string | null)[]): string =>
    JSON.stringify(
      withoutRealTime(table, columns, withSimulatedTime(columns, unsealed(table, columns, row), endedAt)),
    );
  return [JSON.stringify(head), ...rows.map(writtenRow)];
}

const DAY_MS = 86_400_000;

/** Some columns default to the clock of PostgreSQL, which is not simulated. Their rows were created when their ids say. */
function withSimulatedTime(
  columns: readonly Column[],
  row: readonly (string | null)[],
  endedAt: number,
): readonly (string | null)[] {
  const id = row[columns.findIndex(({ name }) => name === 'id')] ?? '';
  const idMs = /^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(id)
    ? Number.parseInt(id.replace('-', '').slice(0, 12), 16)
    : endedAt;
  const simulatedMs = Math.min(idMs, endedAt);
  return row.map((text, at) => {
    if (text === null || columns[at]?.type !== 'timestamp with time zone') return text;
    const isRealTime = Math.abs(Date.parse(text) - Date.now()) < 2 * DAY_MS;
    return isRealTime ? new Date(simulatedMs).toISOString().replace('T', ' ').replace('Z', '+00') : text;
  });
}

/** Columns whose values depend on real time: how long an audit took, and how a login failed while the machine still booted. */
const realTimeValues: Readonly<Record<string, readonly [column: string, value: string | null]>> = {
  audit_runs: ['duration_ms', '400'],
  rental_machines: ['last_error', null],
};

/** Replaces the only values that would differ between two runs. */
function withoutRealTime(
  table: string,
  columns: readonly Column[],
  row: readonly (string | null)[],
): readonly (string | null)[] {
  const fixed = realTimeValues[table];
  if (fixed === undefined) return row;
  const [column, value] = fixed;
  return row.map((text, at) => (columns[at]?.name === column ? value : text));
}

function unsealed(
  table: string,
  columns: readonly Column[],
  row: readonly (string | null)[],
): readonly (string | null)[] {
  const value = (name: string): string => row[columns.findIndex((column) => column.name === name)] ?? '';
  const context = {
    webhooks: ['secret_sealed', () => fromUuid('whk', value('id'))],
    rental_machines: ['proof_key', () => value('external_id')],
  }[table];
  if (context === undefined) return row;
  const [column, rowId] = context as [string, () => string];
  return row.map((text, at) =>
    text === null || columns[at]?.name !== column
      ? text
      : sealer.open(text, { table, column, rowId: rowId() }),
  );
}
