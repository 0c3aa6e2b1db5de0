import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { filesBelow, repositoryRoot } from './fixtures.ts';
import { tableUsesIn } from './sql-tables.ts';
import { mayUse, ownedTables, ownerOf, tableGrants } from './table-owners.ts';

const schema = readFileSync(join(repositoryRoot, 'db/schema.sql'), 'utf8');
const matchesIn = (pattern: RegExp): string[] => [...schema.matchAll(pattern)].map(([, name = '']) => name);

/** Tables and views. Partitions are left out, because stores name the parent. */
function namesInSchema(): string[] {
  const partitions = new Set(matchesIn(/ ATTACH PARTITION public\.(\w+) (?:FOR|DEFAULT)/g));
  const tables = matchesIn(/^CREATE (?:UNLOGGED )?TABLE public\.(\w+)/gm);
  const views = matchesIn(/^CREATE (?:MATERIALIZED )?VIEW public\.(\w+)/gm);
  return [...tables, ...views].filter((name) => !partitions.has(name)).toSorted();
}

test('table owners: every table and view of db/schema.sql has exactly one owner', () => {
  expect(Object.values(ownedTables).flat().toSorted()).toEqual(namesInSchema());
});

test('table owners: every owner and every folder with a grant exists', () => {
  const folders = [...Object.keys(ownedTables), ...tableGrants.map(({ folder }) => folder)];
  expect(folders.filter((folder) => !existsSync(join(repositoryRoot, folder)))).toEqual([]);
});

test('table grants: each has a reason and names tables of other owners', () => {
  for (const { folder, tables, reason } of tableGrants) {
    expect(reason.length, folder).toBeGreaterThan(20);
    if (tables === 'all') continue;
    for (const table of tables) {
      expect(ownerOf(table), table).toBeDefined();
      expect(ownerOf(table), table).not.toBe(folder);
    }
  }
});

test('table grants: every granted table is used by its folder', () => {
  for (const { folder, tables } of tableGrants) {
    if (tables === 'all') continue;
    const text = filesBelow(folder)
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .map((file) => readFileSync(join(repositoryRoot, file), 'utf8'))
      .join('\n');
    const unused = tables.filter((table) => !new RegExp(`\\b${table}\\b`).test(text));
    expect(unused, folder).toEqual([]);
  }
});

test('mayUse: a read grant does not allow writes', () => {
  expect(mayUse('packages/core/src/auditor', 'meters', 'read')).toBe(true);
  expect(mayUse('packages/core/src/auditor', 'meters', 'write')).toBe(false);
});

describe('tableUsesIn', () => {
  const namesIn = (text: string): readonly string[] => tableUsesIn(text).map(({ name }) => name);

  test.each([
    ['select 1 from a as x join b y on true cross join lateral (select from c) as z', ['a', 'b', 'c']],
    ['select 1 from a x, only b, (select 1 from c) as d', ['a', 'b', 'c']],
    ['select 1 from unnest(x) as d (id), ? as e, a', ['a']],
    ['select 1 from (a join b on true)', ['a', 'b']],
    ['delete from public.a using b', ['a', 'b']],
    ['insert into "a" (id) select id from b', ['a', 'b']],
    ['with a as (select 1 from b), c (id) as not materialized (select 2) select from a, c', ['b']],
    ["select 'from a' /* from b */ -- from c", []],
  ])('%s', (text, names) => {
    expect(namesIn(text)).toEqual(names);
  });

  test('distinguishes writes from reads', () => {
    expect(tableUsesIn('insert into a select 1 from b')).toEqual([
      { name: 'a', access: 'write' },
      { name: 'b', access: 'read' },
    ]);
    expect(tableUsesIn('delete from a')[0]?.access).toBe('write');
    expect(tableUsesIn('update a set id = 1')[0]?.access).toBe('write');
  });
});
