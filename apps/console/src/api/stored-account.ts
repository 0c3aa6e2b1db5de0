import type { QueryClient, QueryKey } from '@tanstack/react-query';

/**
 * The account and the installation as this browser last read them, so that a page does not wait for them. They are
 * read again at once, and the service checks every request anyway.
 */

export type StoredName = 'person' | 'me' | 'installation';

interface StoredResult {
  readonly queryKey: QueryKey;
  readonly data: unknown;
}

interface StoredAccount {
  /** Code that wrote the results; other code may expect other fields. */
  readonly release: string;
  /** The newest of each name. */
  readonly results: Partial<Record<StoredName, StoredResult>>;
}

const storageKey = 'millrace.account';
/** In a build, the name of this file contains a hash. */
const release = import.meta.url;

function readResults(): StoredAccount['results'] {
  try {
    const stored = JSON.parse(localStorage.getItem(storageKey) ?? 'null') as Partial<StoredAccount> | null;
    return stored?.release === release ? (stored.results ?? {}) : {};
  } catch {
    return {};
  }
}

export function storeResult(name: StoredName, queryKey: QueryKey, data: unknown): void {
  const results = { ...readResults(), [name]: { queryKey, data } };
  try {
    localStorage.setItem(storageKey, JSON.stringify({ release, results } satisfies StoredAccount));
  } catch {
    // Storage is full or disabled: the next page waits for the account.
  }
}

/** Adds the stored results to the cache, as results that are out of date. */
export function restoreAccount(cache: QueryClient): void {
  for (const { queryKey, data } of Object.values(readResults())) {
    cache.setQueryData(queryKey, data, { updatedAt: 0 });
  }
}

/** Whether this browser was signed in when it last asked. */
export const wasSignedIn = (): boolean => readResults().person !== undefined;

export function removeStoredAccount(): void {
  try {
    localStorage.removeItem(storageKey);
  } catch {
    // Storage is disabled, so nothing is stored.
  }
}
