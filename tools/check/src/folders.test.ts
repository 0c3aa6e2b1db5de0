import { globSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { crowdedFolders, maxSourcesInFolder } from './folders.ts';

const root = join(import.meta.dirname, '../../..');
const skipped = new Set(['node_modules', '.millrace', 'coverage', 'dist', 'fixtures']);

test(`repository: no folder contains more than ${maxSourcesInFolder} source files`, () => {
  const files = globSync('{apps,packages,tools,tests,bench}/**/*.{ts,tsx}', {
    cwd: root,
    exclude: (name) => skipped.has(name),
  });
  expect(files).toContain(join('tools', 'check', 'src', 'folders.ts'));
  expect(crowdedFolders(files)).toEqual([]);
});

test('crowdedFolders reports a folder with one source file too many, without counting tests and fixtures', () => {
  const sources = Array.from({ length: 26 }, (_, nth) => `packages/a/src/s${nth}.ts`);
  const tests = Array.from({ length: 26 }, (_, nth) => `packages/b/src/s${nth}.test.ts`);
  expect(crowdedFolders([...sources, ...tests, 'packages/b/src/s.fixture.ts'])).toEqual([
    'packages/a/src: 26',
  ]);
});
