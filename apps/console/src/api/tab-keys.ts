/**
 * Keys that the console makes for calls which no session can make, kept for this tab alone. They survive a reload, so that one is made
 * an hour and not one at every load; they are gone with the tab and with the sign-out.
 */

export interface TabKey {
  readonly secret: string;
  readonly madeAtMs: number;
  readonly expiresAtMs: number;
}

type KeyStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>;

const prefix = 'millrace.key ';

/** Null for a key that is not there, has ended or ends within `marginMs`. */
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
    // Storage that is full or switched off costs a key at the next load, and nothing else.
  }
}

/** For a key that is refused, and, without a name, for all keys when the person signs out. */
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
