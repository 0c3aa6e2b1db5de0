import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { loopCatalog } from './index.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const isTest = (file: string): boolean => /\.(test|fixture)\.ts$/.test(file) || file.includes('/testing/');

async function sources(): Promise<readonly { readonly file: string; readonly text: string }[]> {
  const found: { file: string; text: string }[] = [];
  for await (const file of glob('{packages,apps,tests}/**/*.ts', {
    cwd: root,
    exclude: (name) => name === 'node_modules',
  })) {
    found.push({ file, text: readFileSync(`${root}${file}`, 'utf8') });
  }
  return found;
}

const all = await sources();
const product = all.filter(({ file }) => !isTest(file) && !file.startsWith('tests/'));
const matches = (texts: readonly { readonly text: string }[], pattern: RegExp): readonly string[] => [
  ...new Set(
    texts.flatMap(({ text }) =>
      [...text.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? ''),
    ),
  ),
];

/** Every name passed to `startLoop` or to a helper around it, in files that start loops. */
const started = matches(
  product.filter(({ text, file }) => text.includes('startLoop(') && !file.endsWith('lifecycle/loop.ts')),
  /(?:\b(?:loop|sweep)\(\s*'([^']+)'|\bname: '([^']+)'(?=,\s*(?:clock|idleMs))|\.\.\.options, name: '([^']+)')/g,
);
const defined = matches(product, /defineLoop\(\{\s*name: '([^']+)'/g);
/** For each loop, the kinds of failing items in its tests, which `it.each<ItemPoison>` lists below `failingLoop`. */
const failingKinds = kindsOfPoison(all.filter(({ file }) => isTest(file)).map(({ text }) => text));

function kindsOfPoison(texts: readonly string[]): ReadonlyMap<string, ReadonlySet<string>> {
  const kinds = new Map<string, Set<string>>();
  for (const part of texts.flatMap((text) => text.split(/(?=describe\(failingLoop\(')/))) {
    const name = /^describe\(failingLoop\('([^']+)'\)/.exec(part)?.[1];
    if (name === undefined) continue;
    const found = kinds.get(name) ?? new Set();
    for (const [, listed = ''] of part.matchAll(/\b(?:it|test)\.each<(?:Item)?Poison>\(\[([^\]]*)\]/g))
      for (const [, kind = ''] of listed.matchAll(/'([^']+)'/g)) found.add(kind);
    kinds.set(name, found);
  }
  return kinds;
}

/** Whether the tests cover both an item that fails at once and one that fails after some time. */
const isShown = (kinds: ReadonlySet<string> | undefined): boolean =>
  kinds?.has('throws') === true && (kinds.has('hangs') || kinds.has('times out'));

const entries = Object.entries(loopCatalog);
const itemLoops = entries.flatMap(([, entry]) => (Array.isArray(entry) ? (entry as string[]) : []));
const isApartByItself = (entry: unknown): boolean =>
  typeof entry === 'object' && entry !== null && 'byItself' in entry;

const needed = [...itemLoops, ...entries.filter(([, entry]) => isApartByItself(entry)).map(([name]) => name)];

describe('loopCatalog', () => {
  it('lists every loop that the product starts', () => {
    expect(started.length).toBeGreaterThan(50);
    expect(started.filter((name) => !(name in loopCatalog))).toEqual([]);
  });

  it('lists no loop that the product does not start', () => {
    expect(Object.keys(loopCatalog).filter((name) => !started.includes(name))).toEqual([]);
  });

  it('lists exactly the item loops that defineLoop declares', () => {
    expect(itemLoops.toSorted()).toEqual(defined.toSorted());
  });

  it('has a test with a failing item for every loop over shared items', () => {
    const missing = needed.filter((name) => !failingKinds.has(name));
    expect(missing).toEqual([]);
  });

  it('has a test with an item that throws and one that hangs or times out, for every loop over shared items', () => {
    const once = needed.filter((name) => !isShown(failingKinds.get(name)));
    expect(once).toEqual([]);
  });

  it('is checked by a parser that finds the kinds of failing items', () => {
    const found = kindsOfPoison([
      `describe(failingLoop('a'), () => { it.each<ItemPoison>(['throws', 'hangs'])('%s', async (how) => {`,
      `describe(failingLoop('b'), () => { it('x'); }); describe(failingLoop('c'), () => { it.each<Poison>(['throws'])('%s'`,
    ]);
    expect([...found].map(([name, kinds]) => [name, isShown(kinds)])).toEqual([
      ['a', true],
      ['b', false],
      ['c', false],
    ]);
  });
});
