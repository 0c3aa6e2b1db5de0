import { sql } from 'kysely';
import { isReleaseName } from '../release/index.ts';
import type { Db } from './db.ts';

/** A process of Millrace that has a session at the database. */
export interface ProcessSession {
  /** Such as `worker`. */
  readonly role: string;
  /** Null for releases that did not name theirs, up to 0.2.0. */
  readonly release: string | null;
  /** Null on a Unix socket. */
  readonly address: string | null;
}

/** The name under which a process appears in `pg_stat_activity`. */
export const sessionNameOf = (role: string, release: string): string => `millrace-${role}/${release}`;

/**
 * The processes that have sessions at this database, on all machines. PostgreSQL shows a login only its own sessions, unless it
 * has `pg_read_all_stats`.
 */
export async function readProcessSessions(db: Db): Promise<readonly ProcessSession[]> {
  const found = await db.transaction({ name: 'read sessions', isolation: 'read committed' }, async (tx) => {
    // The role of a process has no right to see the sessions of its login.
    await sql`set local role none`.execute(tx.kysely);
    const { rows } = await sql<{ name: string; address: string | null }>`
      select distinct application_name as name, host(client_addr) as address
        from pg_stat_activity
       where datname = current_database() and application_name like 'millrace-%'
    `.execute(tx.kysely);
    return rows;
  });
  return found.map(({ name, address }) => {
    const [role = '', release = ''] = name.replace('millrace-', '').split('/');
    return { role, release: isReleaseName(release) ? release : null, address };
  });
}
