import { mintKey } from '@millrace/core/identity';
import { keyFeedKeys, keyEntry, type KeyEntry } from '@millrace/core/inference';
import { SimulatedClock } from '@millrace/platform/clock';
import { isFault } from '@millrace/platform/fault';
import { createCidrSet } from '@millrace/platform/http/client-ip';
import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { keyOf } from '../../key-feed/key-feed.fixture.ts';
import { EntryCache } from '../../key-feed/entry-cache.ts';
import { Authenticator } from './authenticator.ts';
import { createFailedLookupLimiter } from './failed-lookup-limiter.ts';

const newKey = () => mintKey('live', (count) => randomBytes(count));

/** An authenticator with a key feed whose reads are counted. */
function setUp() {
  const clock = new SimulatedClock();
  const entries = new Map<string, string>();
  const counts = { reads: 0 };
  const keys = new EntryCache<KeyEntry>({
    clock,
    bucket: {
      read: async (key) => {
        counts.reads += 1;
        const value = entries.get(key);
        return value === undefined ? null : { key, revision: 1, value };
      },
    },
    withinMs: 2_000,
    maxEntries: 50_000,
    isWhole: () => true,
    keyOf: keyFeedKeys.key,
    parse: (text) => keyEntry.parse(JSON.parse(text)),
  });
  const authenticator = new Authenticator({
    keyFeed: {
      findKey: (publicId) => keys.find(publicId),
      knowsKey: (publicId) => keys.knows(publicId),
      organisation: (orgId) => ({
        version: 1,
        orgId,
        isSuspended: false,
        isFunded: true,
        requestsPerMinute: 1_000,
      }),
      isStale: () => false,
    },
    clock,
    trusted: createCidrSet([]),
    lookups: createFailedLookupLimiter({ clock, failedPerMinute: 30 }),
  });
  const admit = async (text: string, address = '198.51.100.7'): Promise<string> => {
    const request = { headers: { authorization: `Bearer ${text}` }, socket: { remoteAddress: address } };
    try {
      await authenticator.admit(request as IncomingMessage, 'inference:write');
      return 'admitted';
    } catch (error) {
      if (!isFault(error)) throw error;
      return error.reason;
    }
  };
  const addKey = (): string => {
    const { publicId, secret, text } = newKey();
    const secretSha256 = createHash('sha256').update(secret).digest('hex');
    entries.set(
      keyFeedKeys.key(publicId),
      JSON.stringify(keyOf({ secretSha256, scopes: ['inference:write'], mode: 'live' })),
    );
    return text;
  };
  return { clock, counts, admit, addKey };
}

const tally = (outcomes: readonly string[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
};

describe('look-ups of invented keys', () => {
  it('cause at most 100 reads for 10 000 keys from one address, at once or over a minute', async () => {
    const { clock, counts, admit } = setUp();
    const atOnce = await Promise.all(Array.from({ length: 5_000 }, () => admit(newKey().text)));
    expect(tally(atOnce)).toEqual({ INVALID_API_KEY: 30, RATE_LIMITED: 4_970 });
    for (let nth = 0; nth < 5_000; nth += 1) {
      await admit(newKey().text);
      if (nth % 100 === 0) await clock.advance(1_200);
    }
    expect(counts.reads).toBeLessThanOrEqual(100);
    expect(counts.reads).toBeGreaterThan(50);
  });

  it('do not use the budget of another address', async () => {
    const { admit, addKey } = setUp();
    await Promise.all(Array.from({ length: 100 }, () => admit(newKey().text)));
    expect(await admit(addKey())).toBe('RATE_LIMITED');
    expect(await admit(addKey(), '203.0.113.9')).toBe('admitted');
  });

  it('do not block a cached key', async () => {
    const { admit, addKey, clock } = setUp();
    const key = addKey();
    expect(await admit(key)).toBe('admitted');
    await Promise.all(Array.from({ length: 100 }, () => admit(newKey().text)));
    expect(await admit(key)).toBe('admitted');
    // A new key is looked up again once the budget has grown by one.
    await clock.advance(2_000);
    expect(await admit(addKey())).toBe('admitted');
  });
});

describe('createFailedLookupLimiter', () => {
  it('serves all requests of an address while 20 000 other addresses arrive', async () => {
    const budget = createFailedLookupLimiter({ clock: new SimulatedClock(), failedPerMinute: 1 });
    let find: (found: object) => void = () => undefined;
    const first = budget.run('a', () => new Promise<object>((resolve) => (find = resolve)));
    const waiting = [budget.run('a', async () => ({})), budget.run('a', async () => ({}))];
    for (let nth = 0; nth < 20_000; nth += 1) await budget.run(`b${nth}`, async () => ({}));
    find({});
    expect(await Promise.all([first, ...waiting])).toHaveLength(3);
  });
});

describe('look-ups of valid keys', () => {
  it('from one address all succeed, also concurrently', async () => {
    const { counts, admit, addKey } = setUp();
    const keys = Array.from({ length: 500 }, addKey);
    expect(tally(await Promise.all(keys.map((key) => admit(key))))).toEqual({ admitted: 500 });
    expect(counts.reads).toBe(500);
  });
});
