import { eventually, startPostgresServer, type TestPostgres } from '@millrace/testing';
import { sql } from 'kysely';
import { Client } from 'pg';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../clock/index.ts';
import { createIdSource } from '../ids/index.ts';
import { createLogger } from '../log/index.ts';
import { UnknownCommitError, confirmReads, createDb, isUnavailable, type Db } from './index.ts';

/** The earlier primary is never stopped, as if Patroni died beside it: it answers reads, and its commits wait for a standby. */
const earlier = await startPostgresServer({ settings: { synchronous_standby_names: '*' } });
const successor = await startPostgresServer({ standbyOf: earlier });
afterAll(async () => {
  await successor[Symbol.asyncDispose]();
  await earlier[Symbol.asyncDispose]();
});

const options = { name: 'effect', isolation: 'read committed' } as const;

function open(...servers: readonly TestPostgres[]): Db {
  const db = createDb({
    url: earlier.url.replace(earlier.host, servers.map(({ host }) => host).join(',')),
    poolSize: 3,
    role: null,
    connectTimeoutMs: 60_000,
    statementTimeoutMs: 60_000,
    ids: createIdSource({ clock: systemClock, cell: 1 }),
    log: createLogger({ name: 'test', level: 'silent' }),
  });
  onTestFinished(() => db.close());
  return db;
}

async function portOf(db: Db): Promise<number | undefined> {
  const { rows } = await sql<{ port: number }>`select inet_server_port() as port`.execute(db.kysely);
  return rows[0]?.port;
}

/** The row of a key that was committed before is left unchanged. */
function haveEffect(db: Db, key: string): Promise<unknown> {
  return db.transaction(options, (tx) =>
    sql`insert into effects values (${key}) on conflict do nothing`.execute(tx.kysely),
  );
}

it('a pool leaves a primary that was replaced, although it still answers reads, and ends the COMMIT that waits there', async () => {
  await using direct = new AdminClient(earlier.url);
  await direct.query('create table effects (key text primary key)');
  const db = open(earlier, successor);
  expect(await portOf(db)).toBe(earlier.port);
  const committing = db
    .transaction({ ...options, maxAttempts: 1 }, async (tx) => {
      await sql`insert into effects values ('in doubt')`.execute(tx.kysely);
      await successor.promote();
    })
    .catch((error: unknown) => error);
  // The pool may notice the promotion before COMMIT was sent, and the transaction is then rolled back.
  expect(isUnavailable(await committing)).toBe(true);
  expect(await portOf(db)).toBe(successor.port);
  // The client repeats its request with its key.
  await haveEffect(db, 'in doubt');
  await haveEffect(db, 'in doubt');
  const { rows } = await sql`select key from effects`.execute(db.kysely);
  expect(rows).toEqual([{ key: 'in doubt' }]);
  // A pool that knows the successor never returns to the earlier primary, also if the successor is lost.
  await successor.crash();
  // The first ping may still use a connection to it.
  await expect
    .poll(() => db.ping().catch(String), { timeout: 60_000 })
    .toContain('another server has replaced it as the primary');
});

it('confirmReads makes a transaction that only reads wait for a standby', async () => {
  await using direct = new AdminClient(earlier.url);
  const db = open(earlier);
  await db.transaction(options, (tx) => sql`select 1`.execute(tx.kysely));
  let outcome: unknown = null;
  const reading = db.transaction(options, confirmReads).then(
    () => (outcome = 'committed'),
    (error: unknown) => (outcome = error),
  );
  await eventually({ what: 'the read to wait for a standby' }, async () => {
    // The commit of the other test may still wait, too.
    await direct.query("select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'");
    return outcome !== null;
  });
  await reading;
  expect(outcome).toBeInstanceOf(UnknownCommitError);
});

/** A connection whose own commits wait for no standby. */
class AdminClient {
  readonly #client: Promise<Client>;

  constructor(url: string) {
    const client = new Client({ connectionString: url, options: '-c synchronous_commit=local' });
    this.#client = client.connect().then(() => client);
  }

  async query(text: string): Promise<{ readonly rowCount: number | null }> {
    return (await this.#client).query(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#client).end();
  }
}
