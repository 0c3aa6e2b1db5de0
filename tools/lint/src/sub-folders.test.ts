import { globSync } from 'node:fs';
import { join, sep } from 'node:path';
import { describe, expect, test } from 'vitest';
import { forbiddenImports, orderMismatches } from './sub-folders.ts';

const root = join(import.meta.dirname, '../../..');
const skipped = new Set(['node_modules', '.millrace', 'coverage', 'dist']);

test('sub-folders: every sub-folder of a package or an app has a place in the import order', () => {
  const files = globSync('{apps,packages}/*/src/**/*.{ts,tsx}', {
    cwd: root,
    exclude: (name) => skipped.has(name),
  }).map((file) => file.split(sep).join('/'));
  expect(files).toContain('packages/core/src/rentals/index.ts');
  expect(orderMismatches(files)).toEqual([]);
});

describe('orderMismatches', () => {
  const files = ['packages/a/src/x/b/one.ts', 'packages/a/src/x/c/two.ts', 'packages/a/src/x/three.ts'];

  test('reports sub-folders that no order lists', () => {
    expect(orderMismatches(files, { 'packages/a/src': ['x'] })).toEqual([
      'no place for packages/a/src/x/b',
      'no place for packages/a/src/x/c',
    ]);
  });

  test('reports listed sub-folders and files that do not exist', () => {
    const orders = {
      'packages/a/src': ['x'],
      'packages/a/src/x': ['b', '.', 'c', 'd', 'three.ts', 'four.ts'],
    };
    expect(orderMismatches(files, orders)).toEqual([
      'no such packages/a/src/x/d',
      'no such packages/a/src/x/four.ts',
    ]);
  });
});

test('forbiddenImports returns the parts above each part, and index.ts above all', () => {
  const [model, rest, top] = forbiddenImports('a/src', ['model', '.', 'main.ts']);
  const matches = (patterns: readonly string[], path: string) =>
    patterns.some((pattern) => new RegExp(`^${pattern}`).test(path));
  expect(matches(model?.to ?? [], 'a/src/other.ts')).toBe(true);
  expect(matches(model?.to ?? [], 'a/src/model/deep/file.ts')).toBe(false);
  expect(matches([rest?.from ?? ''], 'a/src/main.ts')).toBe(false);
  expect(matches(rest?.to ?? [], 'a/src/main.ts')).toBe(true);
  expect(matches(top?.to ?? [], 'a/src/other.ts')).toBe(false);
  expect(matches(top?.to ?? [], 'a/src/index.ts')).toBe(true);
});
