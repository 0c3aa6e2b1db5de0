import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ApiRead } from './queries.ts';

const place = { organisationId: 'org_2', mode: 'test' };
const memberships = [{ organisation: { id: 'org_1' } }, { organisation: { id: 'org_2' } }];

const storage = (stored: Readonly<Record<string, string>>) => ({
  getItem: (key: string) => stored[key] ?? null,
});

/** The modules read the location when they are loaded. */
async function loadModules() {
  const [{ cache }, { startReads }] = await Promise.all([import('./cache.ts'), import('./start-reads.ts')]);
  cache.clear();
  return { cache, startReads };
}

async function signIn() {
  const modules = await loadModules();
  modules.cache.setQueryData(['person', 'organisations'], { state: 'in', memberships });
  modules.cache.setQueryData(['org_2', 'test', 'me'], { scopes: ['rentals:read'] });
  return modules;
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('location', { origin: 'https://cloud.example.com' });
  vi.stubGlobal('localStorage', storage({}));
  vi.stubGlobal('sessionStorage', storage({ 'millrace.place': JSON.stringify(place) }));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('startReads', () => {
  const rentals: ApiRead<string> = { key: ['rentals'], read: async () => 'loaded' };

  it('reads for the organisation and mode of the tab, with the permissions of the account', async () => {
    const { cache, startReads } = await signIn();
    const started = startReads({ cause: 'enter' }, (session) => {
      expect(session.place).toEqual(place);
      expect([session.may('rentals:read'), session.may('billing:read')]).toEqual([true, false]);
      return [rentals];
    });
    await vi.runAllTimersAsync();
    await started;
    expect(cache.getQueryData(['org_2', 'test', 'rentals'])).toBe('loaded');
  });

  it('waits for slow reads only a moment, and not for failed ones', async () => {
    const { cache, startReads } = await signIn();
    const slow: ApiRead<never> = { key: ['usage'], read: () => new Promise(() => undefined) };
    const failed: ApiRead<never> = { key: ['money'], read: () => Promise.reject(new Error('refused')) };
    const started = startReads({ cause: 'enter' }, () => [failed, slow]);
    await vi.advanceTimersByTimeAsync(300);
    await started;
    expect(cache.isFetching()).toBe(1);
  });

  it('sends nothing for a link that is only pointed at, and nothing before the account is known', async () => {
    const { cache, startReads } = await signIn();
    await startReads({ cause: 'preload' }, () => [rentals]);
    expect(cache.getQueryData(['org_2', 'test', 'rentals'])).toBeUndefined();
    cache.clear();
    await startReads({ cause: 'enter' }, () => [rentals]);
    expect(cache.getQueryCache().getAll()).toEqual([]);
  });
});
