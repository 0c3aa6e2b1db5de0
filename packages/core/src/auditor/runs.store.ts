import { allowLongStatements, type Reader, type Tx } from '@millrace/platform/db';
import { sql } from 'kysely';
import { countWrongRows, isClean, type AuditReport } from './checks/audit-report.ts';

/** An arbitrary number that no other advisory lock uses. */
export const AUDIT_LOCK = 7_102_500_113;
const RUN_RETENTION_DAYS = 90;
const SORT_MEMORY = '64MB';

/** True for the one audit at a time that may record its outcome; the lock ends with the transaction. */
export async function tryAuditLock(tx: Tx): Promise<boolean> {
  const { rows } = await sql<{ taken: boolean }>`
    select pg_try_advisory_xact_lock(${AUDIT_LOCK}) as taken`.execute(tx.kysely);
  return rows[0]?.taken === true;
}

/** Makes the transaction read-only until `endReadOnly`, by a savepoint, because it must record its outcome afterwards. */
export async function beginReadOnly(tx: Tx, statementTimeoutMs: number): Promise<void> {
  await allowLongStatements(tx, statementTimeoutMs);
  await sql`
    select set_config('work_mem', ${SORT_MEMORY}, true), set_config('jit', 'off', true)`.execute(tx.kysely);
  await sql`savepoint auditing`.execute(tx.kysely);
  await sql`set transaction read only`.execute(tx.kysely);
}

export async function endReadOnly(tx: Tx): Promise<void> {
  await sql`rollback to savepoint auditing`.execute(tx.kysely);
}

interface AuditStart {
  readonly snapshotAt: Date;
  readonly markedAt: Date | null;
  /** Audits check transfers with larger ids. */
  readonly archiveCutoff: string;
  readonly archivedThrough: Date | null;
  /** Audits check requests with larger ids. */
  readonly usageCutoff: string;
  readonly requestsThrough: Date | null;
}

interface AuditStartRow {
  snapshot_at: Date;
  marked_at: Date | null;
  archive_cutoff: string;
  archived_through: Date | null;
  usage_cutoff: string;
  requests_through: Date | null;
}

/** The time of the last clean audit, and the ends of the archives; null before the first. */
export async function readCheckpoint(tx: Tx): Promise<AuditStart> {
  const { rows } = await sql<AuditStartRow>`
    select now() as snapshot_at,
           (select snapshot_at from audit_runs where is_clean order by snapshot_at desc limit 1) as marked_at,
           ledger_archive_cutoff() as archive_cutoff,
           (select max(through) from ledger_archives)::timestamp at time zone 'UTC' as archived_through,
           usage_archive_cutoff() as usage_cutoff,
           (select max(through) from usage_archives)::timestamp at time zone 'UTC' as requests_through
  `.execute(tx.kysely);
  const [row] = rows;
  if (row === undefined) throw new Error('PostgreSQL returned no row for a select without a condition.');
  return {
    snapshotAt: row.snapshot_at,
    markedAt: row.marked_at,
    archiveCutoff: row.archive_cutoff,
    archivedThrough: row.archived_through,
    usageCutoff: row.usage_cutoff,
    requestsThrough: row.requests_through,
  };
}

/** Records the run and, if it was clean, the checkpoints of the accounts in the same snapshot. */
export async function recordRun(tx: Tx, run: AuditReport): Promise<void> {
  const lookedAt = Object.fromEntries(run.outcomes.map((outcome) => [outcome.check, outcome.lookedAt]));
  const findings = run.outcomes.flatMap((outcome) => outcome.findings);
  const clean = isClean(run.outcomes);
  await sql`
    insert into audit_runs (id, kind, snapshot_at, since, duration_ms, is_clean, errors, notices, looked_at, findings)
    values (${tx.ids.nextUuid()}, ${run.kind}, now(), ${run.since}, ${run.durationMs}, ${clean},
            ${countWrongRows(run.outcomes, 'error')}, ${countWrongRows(run.outcomes, 'notice')},
            ${JSON.stringify(lookedAt)}, ${JSON.stringify(findings)})`.execute(tx.kysely);
  if (!clean) return;
  await sql`
    insert into audit_marks as mark (account_id, entry_count, balance_nano_usd)
    select a.id, a.entry_count, a.balance_nano_usd
      from ledger_accounts a
      left join audit_marks m on m.account_id = a.id
     where (m.entry_count, m.balance_nano_usd) is distinct from (a.entry_count, a.balance_nano_usd)
    on conflict (account_id) do update
       set entry_count = excluded.entry_count, balance_nano_usd = excluded.balance_nano_usd`.execute(
    tx.kysely,
  );
  await sql`
    delete from audit_runs
     where snapshot_at < now() - ${RUN_RETENTION_DAYS} * interval '1 day'
       and id <> (select id from audit_runs where is_clean order by snapshot_at desc limit 1)`.execute(
    tx.kysely,
  );
}

export interface AuditState {
  readonly lastRunAgeMs: number | null;
  readonly lastFullAgeMs: number | null;
  readonly lastCleanAgeMs: number | null;
  /** Whether the newest audit of any process found no drift; null before the first. */
  readonly isClean: boolean | null;
}

interface StateRow {
  run: string | null;
  full: string | null;
  clean: string | null;
  newest_is_clean: boolean | null;
}

/** The age of the last audits, by the database's clock, which all workers share. */
export async function readAuditState(reader: Reader): Promise<AuditState> {
  const { rows } = await sql<StateRow>`
    select extract(epoch from clock_timestamp() - max(snapshot_at)) * 1000 as run,
           extract(epoch from clock_timestamp() - max(snapshot_at) filter (where kind = 'full')) * 1000 as full,
           extract(epoch from clock_timestamp() - max(snapshot_at) filter (where is_clean)) * 1000 as clean,
           (select is_clean from audit_runs order by snapshot_at desc limit 1) as newest_is_clean
      from audit_runs`.execute(reader.kysely);
  const ms = (value: string | null | undefined): number | null =>
    value === null || value === undefined ? null : Math.max(0, Math.floor(Number(value)));
  return {
    lastRunAgeMs: ms(rows[0]?.run),
    lastFullAgeMs: ms(rows[0]?.full),
    lastCleanAgeMs: ms(rows[0]?.clean),
    isClean: rows[0]?.newest_is_clean ?? null,
  };
}
