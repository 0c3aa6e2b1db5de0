import { expect, it } from 'vitest';
import {
  allowedShortcuts,
  pressKey,
  SEQUENCE_MS,
  shortcuts,
  type FirstKey,
  type PressedKey,
} from './shortcuts.ts';

const all = allowedShortcuts(() => true);
const press = (key: string, change: Partial<PressedKey> = {}): PressedKey => ({
  key,
  hasModifier: false,
  isTaken: false,
  atMs: 1_000,
  ...change,
});
const g: FirstKey = { key: 'g', atMs: 1_000 };

it('pressKey finds a shortcut of one key', () => {
  expect(pressKey(press('n'), null, all).shortcut?.label).toBe('Rent a machine');
});

it('pressKey waits for the second key of a sequence, then finds the shortcut', () => {
  const started = pressKey(press('g'), null, all);
  expect(started).toEqual({ shortcut: null, first: g });
  expect(pressKey(press('r', { atMs: 1_200 }), started.first, all).shortcut?.label).toBe('Rentals');
});

it('pressKey ignores a second key that comes too late', () => {
  const late = press('r', { atMs: 1_001 + SEQUENCE_MS });
  expect(pressKey(late, g, all)).toEqual({ shortcut: null, first: null });
});

it('pressKey does not start a shortcut of one key as the second key of a sequence', () => {
  expect(pressKey(press('n'), g, all)).toEqual({ shortcut: null, first: null });
});

it.each([
  ['a modifier', { hasModifier: true }],
  ['a field with the focus', { isTaken: true }],
] as const)('pressKey ignores keys with %s', (_, change) => {
  expect(pressKey(press('n', change), null, all)).toEqual({ shortcut: null, first: null });
  expect(pressKey(press('r', change), g, all)).toEqual({ shortcut: null, first: null });
});

it('allowedShortcuts leaves out pages that the caller cannot open', () => {
  expect(allowedShortcuts((scope) => scope !== 'admin:read').map(({ group }) => group)).not.toContain(
    'Operator',
  );
});

it('no two shortcuts have the same keys, and none begins another', () => {
  const keys = shortcuts.map((shortcut) => shortcut.keys.join(' '));
  expect(new Set(keys).size).toBe(keys.length);
  const firsts = new Set(
    shortcuts.filter((shortcut) => shortcut.keys.length === 2).map((shortcut) => shortcut.keys[0]),
  );
  const singles = shortcuts
    .filter((shortcut) => shortcut.keys.length === 1)
    .map((shortcut) => shortcut.keys[0]);
  expect(singles.filter((key) => firsts.has(key))).toEqual([]);
});
