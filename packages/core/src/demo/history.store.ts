import type { Reader, Tx } from '@millrace/platform/db';
import { sql } from 'kysely';
import type { HistoryRow, HistoryTable } from './history.ts';

/** Writes rows as they are: no trigger and no foreign key is checked. Needs a superuser. */
export async function disableChecks(tx: Tx): Promise<void> {
  await sql`set local session_replication_role = replica`.execute(tx.kysely);
}

export async function insertHistoryRows(
  tx: Tx,
  { table, columns }: HistoryTable,
  rows: readonly HistoryRow[],
): Promise<void> {
  const names = columns.map(([name]) => sql.id(name));
  const values = columns.map((_, at) => sql`${rows.map((row) => row[at] ?? null)}::text[]`);
  const cast = columns.map(([name, type]) => sql`${sql.id('given', name)}::${sql.raw(type)}`);
  await sql`insert into ${sql.id(table)} (${sql.join(names)}) overriding system value
    select ${sql.join(cast)} from unnest(${sql.join(values)}) as given (${sql.join(names)})`.execute(
    tx.kysely,
  );
}

export async function clearTable(tx: Tx, table: string): Promise<void> {
  await sql`delete from ${sql.id(table)}`.execute(tx.kysely);
}

export async function setSequence(tx: Tx, name: string, value: string): Promise<void> {
  await sql`select setval(${name}::regclass, ${value}::bigint)`.execute(tx.kysely);
}

/** Whether the database is in use. No organisation can be created before the transaction ends, so none is overwritten. */
export async function lockOrganisations(tx: Tx): Promise<boolean> {
  await sql`lock table organisations in exclusive mode`.execute(tx.kysely);
  const { rows } = await sql`select from organisations limit 1`.execute(tx.kysely);
  return rows.length > 0;
}

export async function readMigrations(reader: Reader): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`select name from schema_migrations order by version`.execute(
    reader.kysely,
  );
  return rows.map(({ name }) => name);
}
