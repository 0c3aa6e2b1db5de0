import type { QueryConfig } from 'pg';
import type { PrimaryPosition } from './server-choice.ts';

/** Reads whether the server accepts writes. The name of a WAL file begins with the timeline. */
const probeText = `
  select pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean as "isStandby",
         (select system_identifier::text from pg_control_system()) as "system",
         case when not pg_is_in_recovery() then pg_walfile_name(pg_current_wal_lsn()) end as "walFile"`;

interface ProbeRow {
  readonly isStandby: boolean;
  readonly system: string;
  readonly walFile: string | null;
}

/** Asks a server whether it accepts writes. Null if it does not. */
export async function probePrimary(
  query: (config: QueryConfig) => Promise<{ readonly rows: readonly ProbeRow[] }>,
  timeoutMs: number,
): Promise<PrimaryPosition | null> {
  // The driver has this option for single queries, and its types do not.
  const probe: QueryConfig & { query_timeout: number } = { text: probeText, query_timeout: timeoutMs };
  const [row] = (await query(probe)).rows;
  if (row === undefined || row.isStandby || row.walFile === null) return null;
  return { system: row.system, timeline: Number.parseInt(row.walFile.slice(0, 8), 16) };
}
