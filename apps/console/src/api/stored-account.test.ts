import { QueryClient } from '@tanstack/react-query';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { removeStoredAccount, restoreAccount, storeResult, wasSignedIn } from './stored-account.ts';

const stored = new Map<string, string>();
beforeEach(() => {
  stored.clear();
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => stored.set(key, value),
    removeItem: (key: string) => stored.delete(key),
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
});

it('restores the newest result of each name as out of date', () => {
  storeResult('person', ['person'], { state: 'in' });
  storeResult('me', ['org_1', 'live', 'me'], { role: 'owner' });
  storeResult('me', ['org_2', 'live', 'me'], { role: 'admin' });
  const cache = new QueryClient();
  restoreAccount(cache);
  expect(cache.getQueryData(['person'])).toEqual({ state: 'in' });
  expect(cache.getQueryData(['org_1', 'live', 'me'])).toBeUndefined();
  expect(cache.getQueryData(['org_2', 'live', 'me'])).toEqual({ role: 'admin' });
  expect(cache.getQueryState(['person'])?.dataUpdatedAt).toBe(0);
});

it('restores nothing after a sign-out, and nothing that other code or a person wrote', () => {
  const cache = new QueryClient();
  storeResult('person', ['person'], { state: 'in' });
  expect(wasSignedIn()).toBe(true);
  removeStoredAccount();
  expect(wasSignedIn()).toBe(false);
  stored.set(
    'millrace.account',
    JSON.stringify({ release: 'older.js', results: { person: { queryKey: ['person'], data: {} } } }),
  );
  restoreAccount(cache);
  expect(wasSignedIn()).toBe(false);
  stored.set('millrace.account', 'not JSON');
  restoreAccount(cache);
  expect(cache.getQueryCache().getAll()).toEqual([]);
});

it('does not fail without storage', () => {
  vi.stubGlobal('localStorage', {
    getItem: () => null,
    setItem: () => {
      throw new Error('The quota was exceeded.');
    },
  });
  storeResult('person', ['person'], { state: 'in' });
  expect(wasSignedIn()).toBe(false);
});
