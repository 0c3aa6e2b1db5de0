import type { TestDatabase } from './database.ts';

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
