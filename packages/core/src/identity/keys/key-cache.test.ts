import { SimulatedClock } from '@millrace/platform/clock';
import { describe, expect, it } from 'vitest';
import { KeyCache } from './key-cache.ts';

interface Loads {
  readonly names: string[];
  /** Resolves the oldest pending look-up. */
  resolve(value: string | null): void;
  fail(): void;
}

function cacheOf(options: { maxEntries?: number; maxAbsent?: number } = {}) {
  const clock = new SimulatedClock(0);
  const names: string[] = [];
  const waiting: PromiseWithResolvers<string | null>[] = [];
  const cache = new KeyCache<string>({
    clock,
    maxAgeMs: 750,
    maxEntries: options.maxEntries ?? 10,
    maxAbsent: options.maxAbsent ?? 10,
    load: (name) => {
      names.push(name);
      const load = Promise.withResolvers<string | null>();
      waiting.push(load);
      return load.promise;
    },
  });
  const loads: Loads = {
    names,
    resolve: (value) => waiting.shift()?.resolve(value),
    fail: () => waiting.shift()?.reject(new Error('down')),
  };
  const fill = async (name: string, value: string | null) => {
    const got = cache.get(name);
    loads.resolve(value);
    return got;
  };
  return { cache, clock, loads, fill };
}

describe('KeyCache', () => {
  it('returns cached values up to its age limit, then looks up again', async () => {
    const { cache, clock, loads, fill } = cacheOf();
    await fill('a', 'one');
    await clock.advance(749);
    expect(await cache.get('a')).toBe('one');
    await clock.advance(1);
    expect(await fill('a', 'two')).toBe('two');
    expect(loads.names).toEqual(['a', 'a']);
  });

  it('counts the age from the start of the look-up', async () => {
    const { cache, clock, loads, fill } = cacheOf();
    const slow = cache.get('a');
    await clock.advance(700);
    loads.resolve('old');
    expect(await slow).toBe('old');
    await clock.advance(50);
    expect(await fill('a', 'new')).toBe('new');
  });

  it('shares one look-up among concurrent calls, also if it fails', async () => {
    const { cache, loads } = cacheOf();
    const many = [cache.get('a'), cache.get('a'), cache.get('a')];
    loads.resolve('one');
    expect(await Promise.all(many)).toEqual(['one', 'one', 'one']);
    const failing = [cache.get('b'), cache.get('b')].map((got) => got.catch(() => 'failed'));
    loads.fail();
    expect(await Promise.all(failing)).toEqual(['failed', 'failed']);
    expect(loads.names).toEqual(['a', 'b']);
  });

  it('does not join a look-up that began longer ago than the age limit', async () => {
    const { cache, clock, loads } = cacheOf();
    const first = cache.get('a');
    await clock.advance(750);
    const second = cache.get('a');
    loads.resolve('stale');
    loads.resolve('fresh');
    expect([await first, await second]).toEqual(['stale', 'fresh']);
    expect(await cache.get('a')).toBe('fresh');
  });

  it('does not cache a value that was invalidated during its look-up', async () => {
    const { cache, loads, fill } = cacheOf();
    const early = cache.get('a');
    cache.invalidate('a');
    loads.resolve('before the change');
    await early;
    expect(await fill('a', 'after the change')).toBe('after the change');
    const other = cache.get('b');
    cache.invalidateWhere(() => true);
    loads.resolve('before');
    await other;
    expect(await fill('b', 'after')).toBe('after');
    expect(loads.names).toEqual(['a', 'a', 'b', 'b']);
  });

  it('caches absence no longer than presence', async () => {
    const { cache, clock, fill } = cacheOf();
    await fill('a', null);
    expect(await cache.get('a')).toBeNull();
    await clock.advance(750);
    expect(await fill('a', 'made since')).toBe('made since');
  });

  it('stays within its size, and absent names evict no real one', async () => {
    const { cache, loads, fill } = cacheOf({ maxEntries: 2, maxAbsent: 3 });
    await fill('real', 'yes');
    for (let i = 0; i < 50; i++) await fill(`made up ${String(i)}`, null);
    expect(cache.size).toBe(4);
    expect(await cache.get('real')).toBe('yes');
    await fill('second', 'yes');
    await fill('third', 'yes');
    expect(cache.size).toBe(5);
    const before = loads.names.length;
    await fill('real', 'yes');
    expect(loads.names.length).toBe(before + 1);
  });
});
