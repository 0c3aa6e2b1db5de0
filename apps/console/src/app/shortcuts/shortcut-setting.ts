import { useSyncExternalStore } from 'react';

const storageKey = 'millrace.shortcuts';
const listeners = new Set<() => void>();

export function shortcutsEnabled(): boolean {
  return globalThis.localStorage.getItem(storageKey) !== 'off';
}

/** For this browser. Shortcuts with Ctrl or Cmd stay on. */
export function setShortcutsEnabled(on: boolean): void {
  if (on) globalThis.localStorage.removeItem(storageKey);
  else globalThis.localStorage.setItem(storageKey, 'off');
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function useShortcutsEnabled(): boolean {
  return useSyncExternalStore(subscribe, shortcutsEnabled);
}
