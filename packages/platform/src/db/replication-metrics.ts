import { sql } from 'kysely';
import { gauge } from '../telemetry/index.ts';
import type { Reader } from './db.ts';

const standbysGauge = gauge('millrace_db_standbys');
const timelineGauge = gauge('millrace_db_timeline');
const archiveFailingGauge = gauge('millrace_db_archive_failing');

/** Roles without pg_monitor may count the senders of the log, but not read their state. */
export async function recordReplication(reader: Reader): Promise<void> {
  const { rows } = await sql<{ standbys: bigint; timeline: number; is_archive_failing: boolean }>`
    select (select count(*) from pg_stat_replication) as standbys,
           ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int as timeline,
           (select coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false) from pg_stat_archiver)
             as is_archive_failing
  `.execute(reader.kysely);
  const [row] = rows;
  if (row === undefined) return;
  standbysGauge.record(Number(row.standbys));
  timelineGauge.record(row.timeline);
  archiveFailingGauge.record(row.is_archive_failing ? 1 : 0);
}
