import { expect, it, vi } from 'vitest';
import { setSignedIn, wasSignedIn } from './signed-in-before.ts';

it('wasSignedIn is true from a sign-in to the next sign-out', () => {
  const stored = new Map<string, string>();
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => stored.set(key, value),
    removeItem: (key: string) => stored.delete(key),
  });
  try {
    expect(wasSignedIn()).toBe(false);
    setSignedIn(true);
    expect(wasSignedIn()).toBe(true);
    setSignedIn(false);
    expect(wasSignedIn()).toBe(false);
  } finally {
    vi.unstubAllGlobals();
  }
});
