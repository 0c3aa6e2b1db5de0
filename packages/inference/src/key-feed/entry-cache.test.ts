import { keyFeedKeys, keyEntry, type KeyEntry } from '@millrace/core/inference';
import { SimulatedClock } from '@millrace/platform/clock';
import { isFault } from '@millrace/platform/fault';
import type { BucketEntry } from '@millrace/platform/nats';
import { describe, expect, it } from 'vitest';
import { keyOf } from './key-feed.fixture.ts';
import { EntryCache } from './entry-cache.ts';

/** A bucket that responds when the test says so. */
function slowBucket() {
  const reads: { readonly key: string; readonly resolve: (entry: BucketEntry | null) => void }[] = [];
  const read = (key: string) =>
    new Promise<BucketEntry | null>((resolve) => {
      reads.push({ key, resolve: resolve });
    });
  return { reads, read };
}

const entry = (name: string, revision: number, fields: Partial<KeyEntry> | null = {}): BucketEntry => ({
  key: keyFeedKeys.key(name),
  revision,
  value: fields === null ? null : JSON.stringify(keyOf(fields)),
});

function setUp(options: { readonly maxEntries?: number; readonly isWhole?: () => boolean } = {}) {
  const bucket = slowBucket();
  const clock = new SimulatedClock();
  const keys = new EntryCache<KeyEntry>({
    clock,
    bucket,
    withinMs: 2_000,
    maxEntries: options.maxEntries ?? 100,
    isWhole: options.isWhole ?? (() => true),
    keyOf: keyFeedKeys.key,
    parse: (text) => keyEntry.parse(JSON.parse(text)),
  });
  return { keys, clock, reads: bucket.reads };
}

const first = <T>(list: readonly T[]): T => list[0] ?? expect.fail('no look-up was sent');

describe('EntryCache', () => {
  it('reads an entry once for concurrent and later look-ups', async () => {
    const { keys, reads } = setUp();
    const both = Promise.all([keys.find('A'), keys.find('A')]);
    first(reads).resolve(entry('A', 1));
    expect((await both).map((key) => key?.refusedFor)).toEqual([null, null]);
    expect(keys.find('A')).toMatchObject({ version: 1 });
    expect(reads).toHaveLength(1);
  });

  it('ignores a read that started before a change and arrives after it', async () => {
    const { keys, reads } = setUp();
    const found = Promise.resolve(keys.find('A'));
    keys.take(entry('A', 7, { refusedFor: 'API_KEY_REVOKED' }));
    first(reads).resolve(entry('A', 3));
    expect((await found)?.refusedFor).toBe('API_KEY_REVOKED');
    expect(keys.find('A')).toMatchObject({ refusedFor: 'API_KEY_REVOKED' });
  });

  it('caches a missing key until it is added', async () => {
    const { keys, reads } = setUp();
    const found = Promise.resolve(keys.find('A'));
    first(reads).resolve(null);
    expect(await found).toBeNull();
    expect(keys.find('A')).toBeNull();
    keys.take(entry('A', 1));
    expect(keys.find('A')).toMatchObject({ version: 1 });
    expect(reads).toHaveLength(1);
  });

  it('prefers a key that was added while a look-up found none', async () => {
    const { keys, reads } = setUp();
    const found = Promise.resolve(keys.find('A'));
    keys.take(entry('A', 1));
    first(reads).resolve(null);
    expect(await found).toMatchObject({ version: 1 });
  });

  it('reports no key as missing while the bucket is not filled', async () => {
    let isWhole = false;
    const { keys, reads } = setUp({ isWhole: () => isWhole });
    const found = Promise.resolve(keys.find('A')).catch((error: unknown) => error);
    first(reads).resolve(null);
    expect(await found).toMatchObject({ reason: 'SERVICE_UNAVAILABLE' });
    isWhole = true;
    const again = Promise.resolve(keys.find('A'));
    reads.at(-1)?.resolve(null);
    expect(await again).toBeNull();
  });

  it('rejects a response of a bucket that was replaced meanwhile', async () => {
    const { keys, reads } = setUp();
    const found = Promise.resolve(keys.find('A')).catch((error: unknown) => error);
    keys.clear();
    first(reads).resolve(entry('A', 1));
    expect(isFault(await found)).toBe(true);
    expect(keys.size).toBe(0);
  });

  it('rejects a look-up without a response in time and retries it later', async () => {
    const { keys, clock, reads } = setUp();
    const found = Promise.resolve(keys.find('A')).catch((error: unknown) => error);
    await clock.advance(2_000);
    expect(await found).toMatchObject({ reason: 'SERVICE_UNAVAILABLE', retryAfterSeconds: 1 });
    void Promise.resolve(keys.find('A')).catch(() => undefined);
    expect(reads).toHaveLength(2);
  });

  it('reports an entry that this version cannot parse as unavailable, not as missing', () => {
    const { keys } = setUp();
    keys.take({ key: keyFeedKeys.key('A'), revision: 1, value: '{"version":2}' });
    expect(() => keys.find('A')).toThrow(expect.objectContaining({ reason: 'SERVICE_UNAVAILABLE' }));
  });

  it('keeps a bounded number of entries; invented names evict no real ones', async () => {
    const { keys, reads } = setUp({ maxEntries: 3 });
    for (const name of ['A', 'B', 'C']) keys.take(entry(name, 1));
    for (let n = 0; n < 10; n += 1) {
      const found = Promise.resolve(keys.find(`NONE${n}`));
      reads.at(-1)?.resolve(null);
      expect(await found).toBeNull();
    }
    expect(keys.size).toBe(6);
    expect(keys.find('A')).toMatchObject({ version: 1 });
    keys.take(entry('D', 2));
    expect(keys.size).toBe(6);
  });
});
