import { sql } from 'kysely';
import { gauge } from '../telemetry/index.ts';
import type { Reader } from './db.ts';

const standbysGauge = gauge('millrace_db_standbys');
const timelineGauge = gauge('millrace_db_timeline');

/** Roles without pg_monitor may count the senders of the log, but not read their state. */
export async function recordReplication(reader: Reader): Promise<void> {
  const { rows } = await sql<{ standbys: bigint; timeline: number }>`
    select (select count(*) from pg_stat_replication) as standbys,
           ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int as timeline
  `.execute(reader.kysely);
  const [row] = rows;
  if (row === undefined) return;
  standbysGauge.record(Number(row.standbys));
  timelineGauge.record(row.timeline);
}
