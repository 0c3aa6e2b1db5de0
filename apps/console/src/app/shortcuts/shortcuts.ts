import type { Scope } from '@millrace/contract/scopes';

/** Keyboard shortcuts: what they do, and how pressed keys become one. Pure. */

export type ShortcutTarget =
  | { readonly href: string }
  | { readonly command: 'search' | 'shortcuts' | 'theme' };

export interface Shortcut {
  /** Keys pressed one after the other, as `KeyboardEvent.key` names them. */
  readonly keys: readonly [string] | readonly [string, string];
  readonly label: string;
  readonly group: 'General' | 'Go to' | 'Operator';
  /** Null: for everyone. */
  readonly needs: Scope | null;
  readonly target: ShortcutTarget;
}

function goTo(key: string, label: string, href: string, needs: Scope | null): Shortcut {
  return { keys: ['g', key], label, group: 'Go to', needs, target: { href } };
}

function operate(key: string, label: string, href: string): Shortcut {
  return { keys: ['o', key], label, group: 'Operator', needs: 'admin:read', target: { href } };
}

export const shortcuts: readonly Shortcut[] = [
  {
    keys: ['/'],
    label: 'Search pages, actions and resources',
    group: 'General',
    needs: null,
    target: { command: 'search' },
  },
  {
    keys: ['n'],
    label: 'Rent a machine',
    group: 'General',
    needs: 'rentals:write',
    target: { href: '/catalog' },
  },
  {
    keys: ['t'],
    label: 'Switch between light and dark theme',
    group: 'General',
    needs: null,
    target: { command: 'theme' },
  },
  {
    keys: ['?'],
    label: 'Show keyboard shortcuts',
    group: 'General',
    needs: null,
    target: { command: 'shortcuts' },
  },
  goTo('o', 'Overview', '/overview', 'organisation:read'),
  goTo('c', 'Catalog', '/catalog', null),
  goTo('r', 'Rentals', '/rentals', 'rentals:read'),
  goTo('v', 'Volumes', '/volumes', 'volumes:read'),
  goTo('i', 'Instances', '/instances', 'marketplace:read'),
  goTo('m', 'Models', '/models', null),
  goTo('p', 'Playground', '/playground', 'inference:write'),
  goTo('u', 'Usage', '/usage', 'usage:read'),
  goTo('b', 'Balance', '/money', 'billing:read'),
  goTo('k', 'API keys', '/keys', 'api-keys:read'),
  goTo('a', 'Account and security', '/account', 'organisation:read'),
  operate('o', 'Operator overview', '/operator'),
  operate('f', 'Fleet', '/operator/fleet'),
  operate('r', 'All rentals', '/operator/rentals'),
  operate('p', 'Prices', '/operator/prices'),
  operate('u', 'Organisations', '/operator/organisations'),
];

/** The second key must follow within this time. */
export const SEQUENCE_MS = 1_500;

export interface PressedKey {
  readonly key: string;
  readonly hasModifier: boolean;
  /** The focus is in a field, a menu or a dialog, which use keys themselves. */
  readonly isTaken: boolean;
  readonly atMs: number;
}

/** The first key of a sequence, waiting for the second one. */
export interface FirstKey {
  readonly key: string;
  readonly atMs: number;
}

export interface KeyResult {
  readonly shortcut: Shortcut | null;
  readonly first: FirstKey | null;
}

const nothing: KeyResult = { shortcut: null, first: null };

export function pressKey(
  { key, hasModifier, isTaken, atMs }: PressedKey,
  first: FirstKey | null,
  allowed: readonly Shortcut[],
): KeyResult {
  if (hasModifier || isTaken) return nothing;
  const started = first !== null && atMs - first.atMs <= SEQUENCE_MS ? first : null;
  const found = allowed.find(({ keys: [one, two] }) =>
    started === null ? one === key && two === undefined : one === started.key && two === key,
  );
  if (found !== undefined) return { shortcut: found, first: null };
  const isBeginning = started === null && allowed.some(({ keys }) => keys.length === 2 && keys[0] === key);
  return isBeginning ? { shortcut: null, first: { key, atMs } } : nothing;
}

export function allowedShortcuts(may: (scope: Scope) => boolean): readonly Shortcut[] {
  return shortcuts.filter(({ needs }) => needs === null || may(needs));
}
