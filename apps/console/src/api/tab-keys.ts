/**
 * Stores API keys that the console creates for calls which a session cannot make. They survive a reload, so that the
 * console creates one per hour instead of one per load, and end with the tab or the sign-out.
 */

export interface TabKey {
  readonly secret: string;
  readonly madeAtMs: number;
  readonly expiresAtMs: number;
}

type KeyStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>;

const prefix = 'millrace.key ';

/** Null if the key is missing, has expired or expires within `marginMs`. */
export function readTabKey(
  place: KeyStorage,
  name: string,
  { nowMs, marginMs }: { readonly nowMs: number; readonly marginMs: number },
): TabKey | null {
  const key = parse(place.getItem(prefix + name));
  return key !== null && key.expiresAtMs - marginMs > nowMs ? key : null;
}

export function storeTabKey(place: KeyStorage, name: string, key: TabKey): void {
  try {
    place.setItem(prefix + name, JSON.stringify(key));
  } catch {
    // Storage is full or disabled: the next load creates another key.
  }
}

/** Removes one refused key, or without `name` all keys at sign-out. */
export function removeTabKeys(place: KeyStorage, name?: string): void {
  const names = Array.from({ length: place.length }, (_, index) => place.key(index) ?? '');
  const wanted = name === undefined ? prefix : prefix + name;
  for (const each of names) {
    if (name === undefined ? each.startsWith(wanted) : each === wanted) place.removeItem(each);
  }
}

function parse(text: string | null): TabKey | null {
  try {
    const key = JSON.parse(text ?? 'null') as Partial<TabKey> | null;
    const { secret, madeAtMs, expiresAtMs } = key ?? {};
    return typeof secret === 'string' && typeof madeAtMs === 'number' && typeof expiresAtMs === 'number'
      ? { secret, madeAtMs, expiresAtMs }
      : null;
  } catch {
    return null;
  }
}
