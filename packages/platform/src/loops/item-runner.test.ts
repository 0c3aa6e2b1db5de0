import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../clock/index.ts';
import { createItemRunner, defineLoop, type ItemRunner } from './index.ts';

const loop = defineLoop({
  name: 'test items',
  over: 'organisations',
  timeoutMs: 1_000,
  atOnce: 2,
  firstRetryMs: 100,
  maxRetryMs: 400,
});

function harness(): {
  clock: SimulatedClock;
  runner: ItemRunner;
  logged: { item: string; failures: number }[];
} {
  const clock = new SimulatedClock();
  const logged: { item: string; failures: number }[] = [];
  const log = { warn: (fields: { item: string; failures: number }) => void logged.push(fields) };
  return {
    clock,
    logged,
    runner: createItemRunner(loop, { clock, log: log as never, random: () => 0.999_999 }),
  };
}

const hang = (): Promise<void> => new Promise(() => undefined);
const key = (item: string): string => item;

describe('createItemRunner', () => {
  it('runs the other items if one throws, even before its first await', async () => {
    const { runner } = harness();
    const done: string[] = [];
    const report = await runner.run(['sync', 'async', 'a', 'b'], {
      key,
      work: (item) => {
        if (item === 'sync') throw new Error('sync');
        if (item === 'async') return Promise.reject(new Error('async'));
        done.push(item);
        return Promise.resolve();
      },
    });
    expect(done).toEqual(['a', 'b']);
    expect(report).toEqual({ done: 2, failed: 2, skipped: 0 });
  });

  it('frees the slot of a hanging item at its deadline and aborts its signal', async () => {
    const { runner, clock } = harness();
    const done: string[] = [];
    let aborted = false;
    const running = runner.run(['hangs', 'hangs too', 'a', 'b'], {
      key,
      work: async (item, signal) => {
        if (item.startsWith('hangs')) {
          signal.addEventListener('abort', () => (aborted = true));
          await hang();
        }
        done.push(item);
      },
    });
    await clock.advance(999);
    expect(done).toEqual([]);
    await clock.advance(1);
    expect(await running).toEqual({ done: 2, failed: 2, skipped: 0 });
    expect(done).toEqual(['a', 'b']);
    expect(aborted).toBe(true);
  });

  it('does not start an item again while its earlier work still hangs', async () => {
    const { runner, clock } = harness();
    let started = 0;
    const once = () =>
      runner.run(['hangs'], {
        key,
        work: () => {
          started += 1;
          return hang();
        },
      });
    const first = once();
    await clock.advance(1_000);
    await first;
    await clock.advance(10_000);
    expect(await once()).toEqual({ done: 0, failed: 0, skipped: 1 });
    expect(started).toBe(1);
  });

  it('returns after maxWaitMs and runs further items beside those in progress', async () => {
    const { runner, clock } = harness();
    const done: string[] = [];
    const round = (items: string[]) =>
      runner.run(items, {
        key,
        maxWaitMs: 10,
        work: async (item) => {
          if (item === 'hangs') await hang();
          done.push(item);
        },
      });
    const first = round(['hangs', 'a']);
    await clock.advance(10);
    expect(await first).toEqual({ done: 1, failed: 0, skipped: 0 });
    expect(runner.free).toBe(1);
    expect(await round(['hangs', 'b', 'c'])).toEqual({ done: 2, failed: 0, skipped: 1 });
    expect(done).toEqual(['a', 'b', 'c']);
    await clock.advance(1_000);
    expect(runner.free).toBe(2);
  });

  it('postpones a failing item with growing waits and logs each doubling once', async () => {
    const { runner, clock, logged } = harness();
    const attempts: number[] = [];
    let fails = true;
    const round = () =>
      runner.run(['bad'], {
        key,
        work: async () => {
          attempts.push(clock.monotonicMs());
          if (fails) throw new Error('bad');
        },
      });
    for (let look = 0; look < 160; look += 1) {
      await round();
      await clock.advance(10);
    }
    expect(attempts).toEqual([0, 100, 300, 700, 1_100, 1_500]);
    expect(logged.map(({ failures }) => failures)).toEqual([1, 2, 3]);
    fails = false;
    await clock.advance(400);
    await round();
    fails = true;
    await round();
    expect(logged.map(({ failures }) => failures)).toEqual([1, 2, 3, 1]);
  });

  it('starts no further item after the abort and does not count aborted items as failures', async () => {
    const { runner, logged } = harness();
    const stopping = new AbortController();
    const started: string[] = [];
    const running = runner.run(['a', 'b', 'c'], {
      key,
      signal: stopping.signal,
      work: async (item, signal) => {
        started.push(item);
        await new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(new Error('stopped')));
        });
      },
    });
    await new Promise(setImmediate);
    stopping.abort();
    expect(await running).toEqual({ done: 0, failed: 2, skipped: 1 });
    expect(started).toEqual(['a', 'b']);
    expect(logged).toEqual([]);
  });
});

describe('runBatch', () => {
  it.each([1, 2, 31, 500])('processes all other items of a batch of %i with one bad item', async (size) => {
    const { runner } = harness();
    const items = Array.from({ length: size }, (_, index) => `${index}`);
    const bad = `${size - 1}`;
    const done: string[] = [];
    let attempts = 0;
    const report = await runner.runBatch(items, {
      key,
      together: async (some) => {
        attempts += 1;
        if (some.includes(bad)) throw new Error('bad');
        done.push(...some);
      },
    });
    expect(report).toEqual({ done: size - 1, failed: 1, skipped: 0 });
    expect(done).toEqual(items.filter((item) => item !== bad));
    expect(attempts).toBeLessThanOrEqual(50);
  });
});
