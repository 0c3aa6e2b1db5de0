import { describe, expect, test } from 'vitest';
import type { TabKey } from '../../api/tab-keys.ts';
import { createGateway, isPlaygroundKey, expiredPlaygroundKeys } from './gateway.ts';

const hourMs = 3_600_000;
const refused = (status: number): Error => Object.assign(new Error('refused'), { status });

/** Test harness whose clock advances only while code sleeps. */
function createHarness(options: { readonly knownAfterMs?: number } = {}) {
  const state = { nowMs: 0, made: 0, waits: [] as number[], revoked: new Set<string>(), failMaking: false };
  const createdMs = new Map<string, number>();
  let stored: TabKey | null = null;
  /** Simulates a page load: memory is empty, tab storage is kept. */
  const load = () =>
    createGateway<string>({
      storedKey: () => (stored !== null && stored.expiresAtMs - 60_000 > state.nowMs ? stored : null),
      discardKey: () => {
        stored = null;
      },
      makeKey: async () => {
        await Promise.resolve();
        if (state.failMaking) throw new Error('not now');
        state.made += 1;
        const secret = `key ${String(state.made)}`;
        createdMs.set(secret, state.nowMs);
        stored = { secret, madeAtMs: state.nowMs, expiresAtMs: state.nowMs + hourMs };
        return stored;
      },
      clientOf: (secret) => secret,
      nowMs: () => state.nowMs,
      sleep: async (ms) => {
        state.waits.push(ms);
        state.nowMs += ms;
      },
    });
  /** Simulates a gateway that accepts a key some time after its creation, until it is revoked. */
  const use = async (secret: string): Promise<string> => {
    const ageMs = state.nowMs - (createdMs.get(secret) ?? 0);
    if (ageMs < (options.knownAfterMs ?? 0) || state.revoked.has(secret)) throw refused(401);
    return secret;
  };
  return { state, gateway: load(), load, use };
}

describe('gateway.call', () => {
  test('creates one key for all calls, including concurrent ones', async () => {
    const { state, gateway, use } = createHarness();
    expect(await Promise.all([gateway.call(use), gateway.call(use), gateway.call(use)])).toEqual([
      'key 1',
      'key 1',
      'key 1',
    ]);
    expect(await gateway.call(use)).toBe('key 1');
    expect(state.made).toBe(1);
  });

  test('waits until a new key has reached the gateways', async () => {
    const { state, gateway, use } = createHarness({ knownAfterMs: 650 });
    expect(await gateway.call(use)).toBe('key 1');
    expect(state.waits).toEqual([100, 200, 400]);
  });

  test('fails if a key never arrives, without creating more keys', async () => {
    const { state, gateway, use } = createHarness({ knownAfterMs: hourMs });
    await expect(gateway.call(use)).rejects.toMatchObject({ status: 401 });
    expect(state.made).toBe(1);
    expect(state.waits).toHaveLength(5);
  });

  test('creates the next key before the hour ends', async () => {
    const { state, gateway, use } = createHarness();
    await gateway.call(use);
    state.nowMs = hourMs - 30_000;
    expect(await Promise.all([gateway.call(use), gateway.call(use)])).toEqual(['key 2', 'key 2']);
    expect(state.made).toBe(2);
  });

  test('replaces a revoked key once', async () => {
    const { state, gateway, use } = createHarness();
    await gateway.call(use);
    state.nowMs = 60_000;
    state.revoked.add('key 1');
    expect(await Promise.all([gateway.call(use), gateway.call(use)])).toEqual(['key 2', 'key 2']);
    state.nowMs = 120_000;
    state.revoked.add('key 2').add('key 3');
    await expect(gateway.call(use)).rejects.toMatchObject({ status: 401 });
    expect(state.made).toBe(3);
  });

  test('reuses one key for five page loads, and replaces it when it is rejected', async () => {
    const { state, load, use } = createHarness();
    for (let time = 0; time < 5; time += 1) expect(await load().call(use)).toBe('key 1');
    expect(state.made).toBe(1);
    state.nowMs = 60_000;
    state.revoked.add('key 1');
    for (let time = 0; time < 2; time += 1) expect(await load().call(use)).toBe('key 2');
    expect(state.made).toBe(2);
    state.nowMs += hourMs;
    expect(await load().call(use)).toBe('key 3');
  });

  test('does not retry other errors', async () => {
    const { state, gateway } = createHarness();
    const broke = gateway.call(async () => Promise.reject(refused(402)));
    await expect(broke).rejects.toMatchObject({ status: 402 });
    expect(state.waits).toEqual([]);
  });

  test('retries key creation with the next call after a failure', async () => {
    const { state, gateway, use } = createHarness();
    state.failMaking = true;
    await expect(gateway.call(use)).rejects.toThrow('not now');
    state.failMaking = false;
    expect(await gateway.call(use)).toBe('key 1');
  });
});

test("expiredPlaygroundKeys returns only the user's own expired playground keys", () => {
  const key = {
    id: 'key_a',
    name: 'Playground',
    createdBy: 'usr_me',
    expiresAt: '2026-01-01T00:00:00Z',
    revokedAt: null,
  };
  const keys = [
    key,
    { ...key, id: 'key_b', createdBy: 'usr_other' },
    { ...key, id: 'key_c', name: 'Mine' },
    { ...key, id: 'key_d', revokedAt: '2026-01-01T00:00:00Z' },
    { ...key, id: 'key_e', expiresAt: '2026-01-03T00:00:00Z' },
    { ...key, id: 'key_f', expiresAt: null },
  ];
  expect(expiredPlaygroundKeys(keys, 'usr_me', Date.parse('2026-01-02T00:00:00Z'))).toEqual(['key_a']);
});

test("isPlaygroundKey accepts only one-hour keys with the playground's name", () => {
  const key = { name: 'Playground', createdAt: '2026-01-01T00:00:00Z', expiresAt: '2026-01-01T01:00:00Z' };
  expect(isPlaygroundKey(key)).toBe(true);
  expect(isPlaygroundKey({ ...key, expiresAt: '2026-02-01T00:00:00Z' })).toBe(false);
  expect(isPlaygroundKey({ ...key, expiresAt: null })).toBe(false);
  expect(isPlaygroundKey({ ...key, name: 'Mine' })).toBe(false);
});
