import type { Db } from '@millrace/platform/db';
import type { TestDatabase } from './database.ts';
import { eventually } from '../time/eventually.ts';

/**
 * Terminates PostgreSQL backends of a test database, as a failover or an operator would. `whereQueryLike` selects
 * sessions by their latest statement; by default all other sessions end. Returns their number.
 */
export async function killBackends(database: TestDatabase, whereQueryLike = '%'): Promise<number> {
  const client = await database.connect();
  try {
    const { rows } = await client.query<{ ended: boolean }>(
      `select pg_terminate_backend(pid) as ended from pg_stat_activity
        where datname = $1 and pid <> pg_backend_pid() and query like $2`,
      [database.name, whereQueryLike],
    );
    return rows.filter((row) => row.ended).length;
  } finally {
    await client.end();
  }
}

/** Terminates one backend by its pid (`select pg_backend_pid()`). */
export async function killBackend(database: TestDatabase, backendPid: number): Promise<boolean> {
  const client = await database.connect();
  try {
    const { rows } = await client.query<{ ended: boolean }>('select pg_terminate_backend($1) as ended', [
      backendPid,
    ]);
    return rows[0]?.ended ?? false;
  } finally {
    await client.end();
  }
}

/** More than the size of any test pool, so that this many concurrent pings use every connection. */
const everyConnection = 50;

/** Waits until a pool has replaced its killed connections, which it notices only when they are used. */
export async function waitForPoolRecovery(db: Db): Promise<void> {
  await eventually({ what: 'every connection of the pool to respond' }, async () => {
    await Promise.all(Array.from({ length: everyConnection }, () => db.ping()));
    return true;
  });
}
