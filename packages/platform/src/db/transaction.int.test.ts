import { SimulatedClock, systemClock } from '../clock/index.ts';
import { createIdSource } from '../ids/index.ts';
import { createLogger } from '../log/index.ts';
import {
  createTestDatabase,
  eventually,
  killBackend,
  startTcpProxy,
  type TestDatabase,
} from '@millrace/testing';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  UnknownCommitError,
  createDb,
  isUnavailable,
  isUniqueViolation,
  type Db,
  type DbOptions,
  type Tx,
} from './index.ts';

let database: TestDatabase;
let db: Db;

beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
  const owner = await database.connect();
  await owner.query('create table counters (id int primary key, value int not null)');
  await owner.query('grant all on counters to millrace_app');
  await owner.end();
});
afterAll(() => database.drop());
beforeEach(async () => {
  await sql`delete from counters`.execute(db.kysely);
  await sql`insert into counters values (1, 0), (2, 0)`.execute(db.kysely);
});

function open(options: Partial<DbOptions> = {}): Db {
  return createDb({
    url: database.url,
    poolSize: 4,
    ids: createIdSource({ clock: systemClock, cell: 1 }),
    log: createLogger({ name: 'test', level: 'silent' }),
    ...options,
  });
}

const read = async (reader: Db | Tx, id: number): Promise<number> => {
  const { rows } = await sql<{ value: number }>`select value from counters where id = ${id}`.execute(
    reader.kysely,
  );
  return rows[0]?.value ?? expect.fail(`no counter ${id}`);
};
const write = async (tx: Tx, id: number, value: number): Promise<void> => {
  await sql`update counters set value = ${value} where id = ${id}`.execute(tx.kysely);
};

describe('db.transaction', () => {
  it('commits if the work resolves and rolls back if it rejects', async () => {
    await db.transaction({ name: 'keep', isolation: 'read committed' }, (tx) => write(tx, 1, 7));
    await expect(
      db.transaction({ name: 'undo', isolation: 'read committed' }, async (tx) => {
        await write(tx, 1, 8);
        throw new Error('changed my mind');
      }),
    ).rejects.toThrow('changed my mind');
    expect(await read(db, 1)).toBe(7);
  });

  it.each(['read committed', 'repeatable read', 'serializable'] as const)(
    'runs at the requested isolation level: %s',
    async (isolation) => {
      const { rows } = await db.transaction({ name: 'look', isolation }, (tx) =>
        sql`show transaction_isolation`.execute(tx.kysely),
      );
      expect(rows).toEqual([{ transaction_isolation: isolation }]);
    },
  );

  it('loses no update when many serializable transactions update one row', async () => {
    const jittered = open({ poolSize: 8 });
    await Promise.all(
      Array.from({ length: 24 }, () =>
        jittered.transaction({ name: 'count', isolation: 'serializable', maxAttempts: 50 }, async (tx) =>
          write(tx, 1, (await read(tx, 1)) + 1),
        ),
      ),
    );
    expect(await read(jittered, 1)).toBe(24);
    await jittered.close();
  });

  it('retries after a deadlock, and both transactions succeed', async () => {
    const arrivals: (() => void)[] = [];
    let attempts = 0;
    const swap = (first: number, second: number) =>
      db.transaction({ name: 'cross', isolation: 'read committed' }, async (tx) => {
        attempts += 1;
        await write(tx, first, 1);
        // Each waits once until the other holds its first row, so that they deadlock.
        if (attempts <= 2) {
          await new Promise<void>((resolve) => {
            arrivals.push(resolve);
            if (arrivals.length === 2) arrivals.forEach((arrived) => arrived());
          });
        }
        await write(tx, second, 1);
      });
    await Promise.all([swap(1, 2), swap(2, 1)]);
    expect(attempts).toBeGreaterThanOrEqual(3);
  });

  it('fails after its maximum of attempts, with waits by the clock in between', async () => {
    const clock = new SimulatedClock();
    const patient = open({ clock, random: () => 1 });
    let attempts = 0;
    const failing = patient
      .transaction({ name: 'collide', isolation: 'repeatable read', maxAttempts: 3 }, async (tx) => {
        attempts += 1;
        await read(tx, 1);
        throw await conflict(tx);
      })
      .catch((error: unknown) => error);
    while (attempts < 3) await clock.advance(50);
    expect(await failing).toMatchObject({ code: '40001' });
    expect(attempts).toBe(3);
    await patient.close();
  });

  it('does not retry an error that would only recur', async () => {
    let attempts = 0;
    const failure = await db
      .transaction({ name: 'double', isolation: 'serializable' }, async (tx) => {
        attempts += 1;
        await sql`insert into counters values (1, 0)`.execute(tx.kysely);
      })
      .catch((error: unknown) => error);
    expect(isUniqueViolation(failure, 'counters_pkey')).toBe(true);
    expect(isUniqueViolation(failure, 'another_key')).toBe(false);
    expect(attempts).toBe(1);
  });

  it('is repeated on another connection when its connection is lost before the commit', async () => {
    const fragile = open();
    const pids: number[] = [];
    await fragile.transaction({ name: 'cut', isolation: 'serializable' }, async (tx) => {
      await write(tx, 1, (await read(tx, 1)) + 1);
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx.kysely);
      pids.push(rows[0]?.pid ?? expect.fail('no pid'));
      if (pids.length === 1) await killBackend(database, pids[0] ?? 0);
      await read(tx, 1);
    });
    expect(new Set(pids).size).toBe(2);
    expect(await read(db, 1)).toBe(1);
    await fragile.close();
  });
});

describe('a transaction that fails after its connection was lost', () => {
  it('reports the first error instead of the failed rollback, and logs why PostgreSQL closed the connection', async () => {
    const warned: unknown[] = [];
    const log = { warn: (fields: unknown) => void warned.push(fields), error: () => undefined };
    const fragile = open({ log: log as DbOptions['log'] });
    const failure = fragile.transaction({ name: 'cut', isolation: 'read committed' }, async (tx) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx.kysely);
      await killBackend(database, rows[0]?.pid ?? expect.fail('no pid'));
      await expect(read(tx, 1)).rejects.toThrow();
      throw new Error('the first reason');
    });
    await expect(failure).rejects.toThrow('the first reason');
    await expect.poll(() => warned).toContainEqual({ err: expect.objectContaining({ code: '57P01' }) });
    expect(await read(fragile, 1)).toBe(0);
    await fragile.close();
  });
});

describe('commit', () => {
  it('fails without retry and hooks if its response is lost, although it may have happened', async () => {
    await using proxy = await startTcpProxy(database.url);
    const distant = open({ url: proxy.rewrite(database.url) });
    const owner = await database.connect();
    // A slow commit, so that the test can cut the connection while PostgreSQL executes it.
    await owner.query(`
      create table slow_commits (id int);
      grant all on slow_commits to millrace_app;
      create function linger() returns trigger language plpgsql as 'begin perform pg_sleep(0.5); return null; end';
      create constraint trigger slow_commits_linger after insert on slow_commits
        deferrable initially deferred for each row execute function linger();
    `);
    let attempts = 0;
    let hooksRun = 0;
    const failing = distant
      .transaction({ name: 'slow commit', isolation: 'serializable' }, async (tx) => {
        attempts += 1;
        tx.afterCommit(() => {
          hooksRun += 1;
        });
        await sql`insert into slow_commits values (1)`.execute(tx.kysely);
      })
      .catch((error: unknown) => error);
    await eventually({ what: 'the commit under way' }, async () => {
      const { rowCount } = await owner.query(
        "select from pg_stat_activity where datname = current_database() and query = 'commit' and state = 'active'",
      );
      return rowCount === 1;
    });
    proxy.dropConnections();
    const error = await failing;
    expect(error).toBeInstanceOf(UnknownCommitError);
    expect(isUnavailable(error)).toBe(true);
    expect([attempts, hooksRun]).toEqual([1, 0]);
    await eventually({ what: 'the row that was committed all the same' }, async () => {
      const { rowCount } = await owner.query('select from slow_commits');
      return rowCount === 1;
    });
    await owner.end();
    await distant.close();
  });

  it('is refused after a swallowed error, because PostgreSQL rolled the transaction back', async () => {
    let hooksRun = 0;
    const failing = db.transaction({ name: 'swallow', isolation: 'read committed' }, async (tx) => {
      tx.afterCommit(() => {
        hooksRun += 1;
      });
      await write(tx, 1, 6);
      await sql`insert into counters values (1, 0)`.execute(tx.kysely).catch(() => undefined);
      return 'looks fine';
    });
    await expect(failing).rejects.toThrow();
    expect([await read(db, 1), hooksRun]).toEqual([0, 0]);
  });
});

/** Makes PostgreSQL report a serialization failure in this transaction. */
async function conflict(tx: Tx): Promise<unknown> {
  return sql`do $$ begin raise exception 'conflict' using errcode = 'serialization_failure'; end $$`
    .execute(tx.kysely)
    .catch((error: unknown) => error);
}

describe('afterCommit', () => {
  it('runs hooks once, after the commit is visible to others, and not for attempts that were rolled back', async () => {
    const seen: number[] = [];
    let attempts = 0;
    await db.transaction({ name: 'hook', isolation: 'read committed' }, async (tx) => {
      attempts += 1;
      const attempt = attempts;
      tx.afterCommit(async () => {
        seen.push(attempt, await read(db, 1));
      });
      await write(tx, 1, 5);
      if (attempts === 1) throw await conflict(tx);
    });
    expect(seen).toEqual([2, 5]);
  });

  it('does not run hooks after a rollback', async () => {
    let ran = false;
    const failing = db.transaction({ name: 'hook', isolation: 'read committed' }, async (tx) => {
      tx.afterCommit(() => {
        ran = true;
      });
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(ran).toBe(false);
  });

  it('logs a failed hook and changes neither the result nor the other hooks', async () => {
    const lines: unknown[] = [];
    const noisy = open({
      log: { error: (line: unknown) => lines.push(line), warn: () => undefined } as DbOptions['log'],
    });
    let second = false;
    const result = await noisy.transaction({ name: 'hook', isolation: 'read committed' }, async (tx) => {
      tx.afterCommit(() => {
        throw new Error('hook broke');
      });
      tx.afterCommit(() => {
        second = true;
      });
      return 'done';
    });
    expect([result, second, lines.length]).toEqual(['done', true, 1]);
    await noisy.close();
  });
});

describe('inside a transaction', () => {
  it('the pool and a second transaction are refused, so that no read misses an earlier write', async () => {
    await db.transaction({ name: 'outer', isolation: 'read committed' }, async (tx) => {
      await write(tx, 1, 3);
      await expect(read(db, 1)).rejects.toThrow('inside the transaction "outer"');
      await expect(
        db.transaction({ name: 'inner', isolation: 'read committed' }, async () => undefined),
      ).rejects.toThrow('inside the transaction "outer"');
      expect(await read(tx, 1)).toBe(3);
    });
    expect(await read(db, 1)).toBe(3);
  });
});

describe('a connection of the pool', () => {
  it('has its timeouts, name and role from the first statement on', async () => {
    const limited = open({
      applicationName: 'limits',
      statementTimeoutMs: 1_234,
      lockTimeoutMs: 567,
      idleInTransactionTimeoutMs: 890,
    });
    const { rows } = await sql`
      select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
             current_setting('idle_in_transaction_session_timeout') as idle,
             current_setting('application_name') as name, current_user as role
    `.execute(limited.kysely);
    expect(rows).toEqual([
      { statement: '1234ms', lock: '567ms', idle: '890ms', name: 'limits', role: 'millrace_app' },
    ]);
    await limited.close();
  });

  it('ends a statement that exceeds its timeout', async () => {
    const limited = open({ statementTimeoutMs: 50 });
    await expect(sql`select pg_sleep(5)`.execute(limited.kysely)).rejects.toMatchObject({ code: '57014' });
    await limited.close();
  });

  it('returns bigint exactly, instants as Date, dates as text, and json parsed', async () => {
    const { rows } = await sql`
      select 9223372036854775807::bigint as big, array[1, 2]::bigint[] as bigs, '2026-02-03'::date as day,
             '2026-02-03T04:05:06.789Z'::timestamptz as instant, 0.1::numeric as exact, '{"a": [1]}'::jsonb as json
    `.execute(db.kysely);
    expect(rows).toEqual([
      {
        big: 9_223_372_036_854_775_807n,
        bigs: [1n, 2n],
        day: '2026-02-03',
        instant: new Date('2026-02-03T04:05:06.789Z'),
        exact: '0.1',
        json: { a: [1] },
      },
    ]);
  });

  it('refuses a URL whose options would override the role', () => {
    expect(() => open({ url: `${database.url}?options=-c%20search_path%3Dpublic` })).toThrow('options');
  });

  it('refuses a role name that could contain further options', () => {
    expect(() => open({ role: 'x -c statement_timeout=0' })).toThrow('Not a role name');
  });
});

describe('retryForMs', () => {
  it('retries while others hold a required lock; without it the first timeout fails', async () => {
    const impatient = open({ lockTimeoutMs: 20, poolSize: 1, connectTimeoutMs: 60_000 });
    const holder = await database.connect();
    try {
      await holder.query('begin');
      await holder.query('update counters set value = 5 where id = 1');
      const options = { name: 'wait', isolation: 'read committed' } as const;
      const refused = impatient.transaction(options, (tx) => write(tx, 1, 6));
      await expect(refused).rejects.toMatchObject({ code: '55P03' });
      let tries = 0;
      await impatient.transaction({ ...options, retryForMs: 600_000 }, async (tx) => {
        tries += 1;
        if (tries === 3) await holder.query('commit');
        await write(tx, 1, 7);
      });
      expect(tries).toBeGreaterThanOrEqual(3);
      expect(await read(db, 1)).toBe(7);
    } finally {
      await holder.end();
      await impatient.close();
    }
  });

  it('retries while all connections are in use', async () => {
    const small = open({ poolSize: 1, connectTimeoutMs: 1_000 });
    // The timeout also limits opening the connection, which may take longer on a slow machine.
    await eventually({ what: 'an open connection' }, async () => (await read(small, 1)) === 0);
    const options = { name: 'wait', isolation: 'read committed' } as const;
    const isHeld = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const first = small.transaction(options, async () => {
      isHeld.resolve();
      await release.promise;
    });
    await isHeld.promise;
    await expect(small.transaction(options, (tx) => write(tx, 1, 8))).rejects.toThrow(/timeout exceeded/);
    const second = small.transaction({ ...options, retryForMs: 600_000 }, (tx) => write(tx, 1, 9));
    release.resolve();
    await Promise.all([first, second]);
    expect(await read(db, 1)).toBe(9);
    await small.close();
  });
});
