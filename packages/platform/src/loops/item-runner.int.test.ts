import { createTestDatabase, eventually } from '@millrace/testing';
import { sql } from 'kysely';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { SimulatedClock } from '../clock/index.ts';
import { createDb } from '../db/index.ts';
import { createIdSource } from '../ids/index.ts';
import { createLogger } from '../log/index.ts';
import { createItemRunner, defineLoop, isItemAvailable, type ItemRunner } from './index.ts';

const loop = defineLoop({ name: 'test items', over: 'organisations', timeoutMs: 1_000, firstRetryMs: 100 });
const clock = new SimulatedClock();
const log = createLogger({ name: 'test', level: 'silent' });

const database = await createTestDatabase();
const db = createDb({ url: database.url, poolSize: 4, clock, ids: createIdSource({ clock, cell: 1 }), log });
afterAll(async () => {
  await db.close();
  await database.drop();
});
beforeEach(() => db.kysely.deleteFrom('loop_items').execute());

const worker = (claims: boolean): ItemRunner =>
  createItemRunner(loop, { clock, log, db, claims, random: () => 0 });
const key = (item: string): string => item;
const rows = () => db.kysely.selectFrom('loop_items').selectAll().orderBy('item').execute();
const freeOf = async (items: string[]): Promise<string[]> => {
  const { rows: found } = await sql<{ item: string }>`
    select w.item from unnest(${items}::text[]) as w (item)
     where ${isItemAvailable(loop, sql.ref('w.item'), clock.now())} order by w.item`.execute(db.kysely);
  return found.map(({ item }) => item);
};

describe('createItemRunner with a database', () => {
  it('postpones a failing item for every worker, and isItemAvailable excludes it', async () => {
    const work = async (item: string): Promise<void> => {
      if (item === 'bad') throw new Error('This item is bad.');
    };
    expect(await worker(false).run(['a', 'bad'], { key, work })).toEqual({ done: 1, failed: 1, skipped: 0 });
    expect(await rows()).toMatchObject([
      { loop: 'test items', item: 'bad', failures: 1, problem: 'This item is bad.' },
    ]);
    expect(await freeOf(['a', 'bad'])).toEqual(['a']);
    expect(await worker(false).run(['a', 'bad'], { key, work })).toEqual({ done: 1, failed: 0, skipped: 1 });
    await clock.advance(50);
    expect(await freeOf(['a', 'bad'])).toEqual(['a', 'bad']);
    await worker(false).run(['bad'], { key, work });
    expect(await rows()).toMatchObject([{ failures: 2 }]);
    await clock.advance(100);
    await worker(false).run(['bad'], { key, work: () => Promise.resolve() });
    expect(await rows()).toEqual([]);
  });

  it('gives each item to only one of several concurrent workers and leaves no rows', async () => {
    const items = Array.from({ length: 40 }, (_, index) => `item ${index}`);
    const started: string[] = [];
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    // Workers that have items or found none. A worker that queries after the release might take completed items again.
    const hasLooked = new Set<number>();
    const runs = Array.from({ length: 4 }, (_, nth) =>
      worker(true)
        .run(items, {
          key,
          work: async (item) => {
            hasLooked.add(nth);
            started.push(item);
            await released;
          },
        })
        .finally(() => hasLooked.add(nth)),
    );
    while (started.length < 8 || hasLooked.size < runs.length) await new Promise(setImmediate);
    expect(await freeOf(items)).toEqual([]);
    release();
    const reports = await Promise.all(runs);
    expect(started.toSorted()).toEqual(items.toSorted());
    expect(reports.reduce((sum, { done }) => sum + done, 0)).toBe(40);
    expect(await rows()).toEqual([]);
  });

  it('takes over an item of a dead worker once its claim has expired', async () => {
    const died = worker(true).run(['a'], { key, work: () => new Promise(() => undefined) });
    while ((await rows()).length === 0) await new Promise(setImmediate);
    const next = worker(true);
    const work = () => Promise.resolve();
    expect(await next.run(['a'], { key, work })).toMatchObject({ skipped: 1 });
    await db.kysely.updateTable('loop_items').set({ free_at: clock.now() }).execute();
    expect(await next.run(['a'], { key, work })).toMatchObject({ done: 1 });
    await clock.advance(1_000);
    await died;
  });

  it('renews an expiring claim of an item that waits for a slot, and skips an item that another worker took over', async () => {
    const started: string[] = [];
    const slow = { ...loop, atOnce: 1, timeoutMs: 60_000 };
    const releases: (() => void)[] = [];
    const running = createItemRunner(slow, { clock, log, db, claims: true }).run(['a', 'b', 'c'], {
      key,
      work: async (item: string) => {
        started.push(item);
        await new Promise<void>((resolve) => void releases.push(resolve));
      },
    });
    while (started.length < 1) await new Promise(setImmediate);
    await clock.advance(50_000);
    releases[0]?.();
    while (started.length < 2) await new Promise(setImmediate);
    // Without the renewal the claim of b would have expired by now.
    await clock.advance(50_000);
    expect(await freeOf(['b', 'c'])).toEqual(['c']);
    expect(await worker(true).run(['b', 'c'], { key, work: () => Promise.reject(new Error('bad')) })).toEqual(
      {
        done: 0,
        failed: 1,
        skipped: 1,
      },
    );
    releases[1]?.();
    expect(await running).toEqual({ done: 2, failed: 0, skipped: 1 });
    expect(started).toEqual(['a', 'b']);
    expect(await rows()).toMatchObject([{ item: 'c', failures: 1 }]);
  });

  it('keeps an item from other workers while its work ignores the deadline', async () => {
    let release: () => void = () => undefined;
    const hanging = new Promise<void>((resolve) => (release = resolve));
    const hung = worker(true).run(['a'], { key, work: () => hanging });
    while ((await rows()).length === 0) await new Promise(setImmediate);
    await clock.advance(1_000);
    expect(await hung).toMatchObject({ failed: 1 });
    const next = worker(true);
    const work = () => Promise.resolve();
    for (let minute = 0; minute < 3; minute += 1) {
      await eventually({ what: 'the claim is extended' }, async () => (await freeOf(['a'])).length === 0);
      expect(await next.run(['a'], { key, work })).toMatchObject({ skipped: 1 });
      await clock.advance(30_000);
    }
    release();
    await eventually({ what: 'the item is free' }, async () => {
      await clock.advance(60_000);
      return (await next.run(['a'], { key, work })).done === 1;
    });
  });

  it('does not change the claim of another worker after its own has expired', async () => {
    const releases: (() => void)[] = [];
    const hold = () => new Promise<void>((resolve) => void releases.push(resolve));
    const first = worker(true).run(['a'], { key, work: hold });
    while (releases.length < 1) await new Promise(setImmediate);
    await db.kysely.updateTable('loop_items').set({ free_at: clock.now() }).execute();
    const second = worker(true).run(['a'], { key, work: hold });
    while (releases.length < 2) await new Promise(setImmediate);
    releases[0]?.();
    await first;
    expect(await rows()).toHaveLength(1);
    releases[1]?.();
    await second;
    expect(await rows()).toEqual([]);
  });

  it('keeps the failure count of an item that is released untried', async () => {
    const runner = worker(true);
    await runner.run(['a'], { key, work: () => Promise.reject(new Error('bad')) });
    await clock.advance(50);
    const stopping = new AbortController();
    const running = runner.run(['a'], {
      key,
      signal: stopping.signal,
      work: (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('stopped')));
          stopping.abort();
        }),
    });
    await running;
    expect(await rows()).toMatchObject([{ item: 'a', failures: 1, holder: null }]);
    expect(await freeOf(['a'])).toEqual(['a']);
  });

  it('stores keys that are longer than the column as a hash, and isItemAvailable finds them', async () => {
    const long = 'x'.repeat(300);
    const umlauts = 'ü'.repeat(100);
    await worker(false).run([long, umlauts], { key, work: () => Promise.reject(new Error('bad')) });
    expect((await rows()).map(({ item }) => item.slice(0, 7))).toEqual(['sha256:', 'üüüüüüü']);
    expect(await freeOf([long, umlauts])).toEqual([]);
    await clock.advance(50);
    expect(await worker(true).run([long], { key, work: () => Promise.resolve() })).toMatchObject({ done: 1 });
    expect(await rows()).toHaveLength(1);
  });

  it('fails the round if a failure cannot be recorded, so that the loop waits', async () => {
    const runner = createItemRunner({ ...loop, name: 'x'.repeat(101) }, { clock, log, db });
    const work = () => Promise.reject(new Error('bad'));
    await expect(runner.run(['a'], { key, work })).rejects.toThrow('loop_items_loop_check');
  });

  it('logs a failure that cannot be recorded after the round has returned', async () => {
    const warned: string[] = [];
    const recorder = { warn: (_: unknown, text: string) => void warned.push(text) };
    const named = { ...loop, name: 'x'.repeat(101) };
    const runner = createItemRunner(named, { clock, log: recorder as never, db });
    const running = runner.run(['a'], { key, maxWaitMs: 10, work: () => new Promise(() => undefined) });
    while (runner.free === loop.atOnce) await new Promise(setImmediate);
    await clock.advance(10);
    await running;
    await clock.advance(1_000);
    await runner.settled();
    expect(warned).toContain('failure of a loop item could not be recorded');
  });
});
