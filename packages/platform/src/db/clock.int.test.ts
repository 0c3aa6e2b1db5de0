import { createTestDatabase } from '@millrace/testing';
import { sql } from 'kysely';
import { Client } from 'pg';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { ClockSkewError, systemClock, type Clock } from '../clock/index.ts';
import { createIdSource } from '../ids/index.ts';
import { createLifecycle } from '../lifecycle/index.ts';
import { createLogger } from '../log/index.ts';
import { createDb, isUnavailable, watchClock, type Db, type DbOptions, type Reader } from './index.ts';

const DAY_MS = 86_400_000;
const plain = { name: 'look', isolation: 'read committed' } as const;

const opened: Db[] = [];

const database = await createTestDatabase();
afterAll(() => database.drop());
afterEach(async () => {
  for (const db of opened.splice(0)) await db.close();
});

/** The machine's clock with a wrong time of day. */
function wrongBy(ms: number): Clock {
  return {
    ...systemClock,
    nowMs: () => systemClock.nowMs() + ms,
    now: () => new Date(systemClock.nowMs() + ms),
  };
}

function open(options: Partial<DbOptions> = {}): Db {
  const db = createDb({
    url: database.url,
    poolSize: 2,
    ids: createIdSource({ clock: systemClock, cell: 1 }),
    log: createLogger({ name: 'test', level: 'silent' }),
    ...options,
  });
  opened.push(db);
  return db;
}

async function databaseMs(reader: Reader): Promise<number> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(reader.kysely);
  return rows[0]?.now.getTime() ?? expect.fail('no time');
}

describe('tx.clock', () => {
  it.each([-DAY_MS, 25 * 3_600_000, 40 * DAY_MS])(
    'shows the time of the database when the clock of the process is wrong by %s ms',
    async (wrongMs) => {
      const db = open({ processClock: wrongBy(wrongMs), guardClock: false });
      const [before, read, after] = await db.transaction(plain, async (tx) => [
        await databaseMs(tx),
        tx.clock.nowMs(),
        await databaseMs(tx),
      ]);
      // The clock is never ahead of the database, and behind it by at most one response time.
      expect(read).toBeLessThanOrEqual(after);
      expect(read).toBeGreaterThan(before - 10_000);
    },
  );

  it('advances while the transaction waits', async () => {
    const db = open();
    const waitedMs = await db.transaction(plain, async (tx) => {
      const startedMs = tx.clock.nowMs();
      await sql`select pg_sleep(0.05)`.execute(tx.kysely);
      return tx.clock.nowMs() - startedMs;
    });
    expect(waitedMs).toBeGreaterThanOrEqual(49);
  });

  it('is read in the round trip that begins the transaction', async () => {
    const db = open();
    const sent: string[] = [];
    const original = Client.prototype.query;
    Client.prototype.query = function (this: Client, ...args: unknown[]): unknown {
      sent.push(String(args[0]));
      return Reflect.apply(original, this, args);
    } as typeof original;
    try {
      await db.transaction({ ...plain, isolation: 'serializable' }, async (tx) => tx.clock.now());
    } finally {
      Client.prototype.query = original;
    }
    expect(sent).toHaveLength(2);
    expect(sent[0]).toMatch(/^start transaction isolation level serializable; select .*clock_timestamp/);
    expect(sent[1]).toBe('commit');
  });

  it('is the clock that a test passes in', async () => {
    const db = open({ clock: wrongBy(DAY_MS) });
    const readMs = await db.transaction(plain, async (tx) => tx.clock.nowMs());
    expect(readMs - systemClock.nowMs()).toBeGreaterThan(DAY_MS - 60_000);
    expect(db.clock.nowMs() - systemClock.nowMs()).toBeGreaterThan(DAY_MS - 60_000);
  });
});

describe('db.clock', () => {
  it('shows the time of the database after a ping, not that of the process', async () => {
    const db = open({ processClock: wrongBy(-DAY_MS) });
    expect(() => db.clock.now()).toThrow('The time of the database is not known yet');
    await db.ping();
    const readMs = db.clock.nowMs();
    expect(readMs).toBeLessThanOrEqual(await databaseMs(db));
    expect(readMs).toBeGreaterThan((await databaseMs(db)) - 10_000);
  });

  it('shows the time of the database after a transaction', async () => {
    const db = open();
    const inside = await db.transaction(plain, async (tx) => tx.clock.nowMs());
    expect(db.clock.nowMs()).toBeGreaterThanOrEqual(inside);
  });
});

describe('a process with a wrong clock', () => {
  it('refuses transactions until its clock is right, then resumes', async () => {
    let wrongMs = 25 * 3_600_000;
    const db = open({
      processClock: {
        ...systemClock,
        nowMs: () => systemClock.nowMs() + wrongMs,
        now: () => new Date(systemClock.nowMs() + wrongMs),
      },
    });
    const work = (): Promise<string> => db.transaction(plain, async () => 'done');
    await expect(work()).rejects.toThrow(ClockSkewError);
    expect(isUnavailable(await work().catch((error: unknown) => error))).toBe(true);
    expect(db.clockProblem()).toMatch(/90000\.\d s ahead/);
    expect(await db.transaction({ ...plain, withAnyClock: true }, async () => 'read')).toBe('read');
    wrongMs = 0;
    expect(await work()).toBe('done');
    wrongMs = -3_000;
    await expect(work()).rejects.toThrow('behind the clock of the database');
  });

  it('is not ready and reports the repair', async () => {
    let wrongMs = 60_000;
    const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + wrongMs };
    const db = open({ processClock: clock });
    await db.ping();
    const log = createLogger({ name: 'test', level: 'silent' });
    const lifecycle = createLifecycle({ clock: systemClock, log, drainDeadlineMs: 1_000 });
    watchClock(db, { clock: systemClock, lifecycle, log });
    lifecycle.started();
    const { ready, checks } = await lifecycle.ready();
    expect(ready).toBe(false);
    expect(checks['clock']?.detail).toMatch(/60\.0 s ahead.*NTP/);
    wrongMs = 0;
    // Results of checks are reused for a second.
    await expect.poll(async () => (await lifecycle.ready()).ready, { timeout: 30_000 }).toBe(true);
    await lifecycle.shutdown('done');
  });
});
