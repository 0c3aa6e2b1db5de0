import type { Db } from '@millrace/platform/db';
import type { TestDatabase } from './database.ts';
import { eventually } from '../time/eventually.ts';

/**
 * Ends PostgreSQL backends of a test database from the server's side, as a failover or an operator would.
 * `whereQueryLike` narrows it to sessions whose latest statement matches; without it, every other session goes.
 * Answers how many were ended.
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

/** Ends one backend by its pid, as read with `select pg_backend_pid()` on the connection that is to die. */
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

/** More than any pool of a test has connections, so that asking this often at once asks every one of them. */
const everyConnection = 50;

/**
 * Waits until a pool has parted with the connections that were killed. Each is found dead only when it is used or its
 * socket reports it, so for a moment after `killBackends` a query may still be handed one.
 */
export async function waitForPoolRecovery(db: Db): Promise<void> {
  await eventually({ what: 'every connection of the pool to answer' }, async () => {
    await Promise.all(Array.from({ length: everyConnection }, () => db.ping()));
    return true;
  });
}
