import { globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { expect, test } from 'vitest';
import { repeatedTypeNames } from './type-names.ts';

const root = join(import.meta.dirname, '../../..');
const skipped = new Set(['node_modules', '.millrace', 'coverage', 'dist']);

test('repository: no package exports two types with the same name', () => {
  const files = globSync('{apps,packages}/*/**/*.{ts,tsx}', {
    cwd: root,
    exclude: (name) => skipped.has(name),
  }).map((file) => file.split(sep).join('/'));
  expect(files).toContain('packages/core/src/rentals/model/rental.ts');
  expect(repeatedTypeNames(files, (file) => readFileSync(join(root, file), 'utf8'))).toEqual([]);
});

test('repeatedTypeNames reports a name that a package exports twice, but not across packages, from tests or as a re-export', () => {
  const sources: Readonly<Record<string, string>> = {
    'packages/a/src/one.ts': 'export interface Rental {}\nexport type Power = 1;\ntype Local = 1;',
    'packages/a/src/two.ts': 'export abstract class Rental {}\nexport type Local = 2;',
    'packages/a/src/index.ts': "export type { Rental, Power } from './one.ts';",
    'packages/a/src/one.test.ts': 'export type Power = 2;',
    'packages/a/src/one.generated.ts': 'export type Power = 3;',
    'packages/b/src/one.ts': 'export type Rental<Kind> = Kind;',
  };
  expect(repeatedTypeNames(Object.keys(sources), (file) => sources[file] ?? '')).toEqual([
    'packages/a Rental: packages/a/src/one.ts, packages/a/src/two.ts',
  ]);
});
