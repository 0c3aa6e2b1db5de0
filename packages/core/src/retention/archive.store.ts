import type { Reader, Tx } from '@millrace/platform/db';
import { sql } from 'kysely';

/** The end of the months that are due, by the database's clock; null if they are archived or an archive is in progress. */
export async function findDueArchive(reader: Reader, afterMonths: number): Promise<string | null> {
  const { rows } = await sql<{ through: string }>`
    select to_char(due.through, 'YYYY-MM-DD') as through
      from (select date_trunc('month', now() at time zone 'UTC') - ${afterMonths} * interval '1 month' as through) as due
     where not exists (select from ledger_archives where moved_at is null or ledger_archives.through >= due.through)`.execute(
    reader.kysely,
  );
  return rows[0]?.through ?? null;
}

/** Whether this transaction is the only one that audits in order to begin an archive: each audit reads the whole ledger. */
export async function claimArchiving(tx: Tx): Promise<boolean> {
  const { rows } = await sql<{ claimed: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended('begin_archive', 0)) as claimed`.execute(tx.kysely);
  return rows[0]?.claimed === true;
}

/** Records the opening balances and totals. Any result but `begun` says why not. */
export async function beginArchive(tx: Tx, through: string): Promise<string> {
  const { rows } = await sql<{ outcome: string }>`
    select begin_ledger_archive(${through}::date) as outcome`.execute(tx.kysely);
  return rows[0]?.outcome ?? 'no result';
}

/** Moves the next batch. Returns the number of transfers that it passed; 0 if there is nothing to move now. */
export async function moveTransfers(tx: Tx, limit: number): Promise<number> {
  const { rows } = await sql<{ passed: number }>`
    select move_archived_transfers(${limit}) as passed`.execute(tx.kysely);
  return rows[0]?.passed ?? 0;
}

/** The end of the months whose requests are due, by the database's clock and the finished invoices; null if nothing is due. */
export async function findDueUsageArchive(reader: Reader, afterMonths: number): Promise<string | null> {
  const { rows } = await sql<{ through: string | null }>`
    select to_char(due_usage_archive(${afterMonths}), 'YYYY-MM-DD') as through`.execute(reader.kysely);
  return rows[0]?.through ?? null;
}

/** Records the sums of requests. Any result but `begun` says why not. */
export async function beginUsageArchive(tx: Tx, through: string): Promise<string> {
  const { rows } = await sql<{ outcome: string }>`
    select begin_usage_archive(${through}::date) as outcome`.execute(tx.kysely);
  return rows[0]?.outcome ?? 'no result';
}

/** Deletes the next day of details. Returns 0 if there is nothing to delete now. */
export async function deleteArchivedUsage(tx: Tx, limit: number): Promise<number> {
  const { rows } = await sql<{ deleted: number }>`
    select delete_archived_usage(${limit}) as deleted`.execute(tx.kysely);
  return rows[0]?.deleted ?? 0;
}

/** Deletes closed leases whose charges and requests are all archived. Returns their number. */
export async function deleteArchivedLeases(tx: Tx, limit: number): Promise<number> {
  const { rows } = await sql<{ deleted: number }>`
    select delete_archived_leases(${limit}) as deleted`.execute(tx.kysely);
  return rows[0]?.deleted ?? 0;
}
