import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { collectOutput, scratchRepository } from '../common/scratch.fixture.ts';
import { proveCommand } from './command.ts';
import { UnsupportedHostError } from './define.ts';
import type { ProveOptions } from './command.ts';
import { replaceSection } from './figures.ts';

const proofFile = (name: string, failures: readonly string[] = []): string => `
export const proof = {
  name: '${name}', proves: 'Nothing is lost.',
  short: async ({ seed }) => ({ figures: { 'seed seen': seed }, failures: ${JSON.stringify(failures)} }),
  long: async ({ seed, random }) => ({
    figures: { drawn: random.int(0, 1000000), 'a | b': 'x' }, failures: ${JSON.stringify(failures)},
  }),
};`;

const codes: Readonly<Record<string, number>> = { bad: 1, optional: 3 };

function settingIn(root: string, changedFiles: readonly string[] = []): ProveOptions {
  return {
    place: { root, folder: 'tests/prove', suffix: '.prove.mjs', exportName: 'proof' },
    revision: () => ({ commit: 'abc123', changedFiles }),
    again: (args) => Promise.resolve(codes[args[0] ?? ''] ?? 0),
  };
}

const files = {
  'tests/prove/feed.prove.mjs': proofFile('feed'),
  'docs/figures.md': '# Figures\n\n## zoo\n\nkept\n',
};

test('prove: the long form writes commit, seed, machine and figures, and keeps other sections', async () => {
  using scratch = scratchRepository(files);
  const code = await proveCommand(settingIn(scratch.root), ['feed', '--seed', '5'], collectOutput());
  const written = readFileSync(join(scratch.root, 'docs/figures.md'), 'utf8');
  expect(code).toBe(0);
  expect(written).toMatch(/\| commit \| abc123 \|/);
  expect(written).toMatch(/\| seed \| 5 \|/);
  expect(written).toMatch(/\| machine \| \d+ × .*Node 2\d/);
  expect(written).toContain('a \\| b');
  expect(written).toContain('## zoo\n\nkept');
});

test('prove: a second run with the same seed replaces its section with the same figures', async () => {
  using scratch = scratchRepository(files);
  const figures: string[] = [];
  for (const _ of [1, 2]) {
    await proveCommand(settingIn(scratch.root), ['feed', '--seed', '5'], collectOutput());
    figures.push(readFileSync(join(scratch.root, 'docs/figures.md'), 'utf8'));
  }
  expect(figures[1]).toBe(figures[0]);
  expect(figures[1]?.match(/^## /gm)).toHaveLength(2);
});

test('prove: a failed long form keeps the figures of the last run that passed', async () => {
  const section = '# Figures\n\n## feed\n\nfrom the last run that passed\n';
  using scratch = scratchRepository({
    'tests/prove/feed.prove.mjs': proofFile('feed', ['event 7 was skipped']),
    'docs/figures.md': section,
  });
  const output = collectOutput();
  expect(await proveCommand(settingIn(scratch.root), ['feed', '--seed', '5'], output)).toBe(1);
  expect(output.lines).toContain('  FAILED: event 7 was skipped');
  expect(readFileSync(join(scratch.root, 'docs/figures.md'), 'utf8')).toBe(section);
});

test('prove: uncommitted changes stop the long form, unless allowed, and then mark the figures', async () => {
  using scratch = scratchRepository(files);
  const dirty = settingIn(scratch.root, ['packages/x.ts']);
  const before = readFileSync(join(scratch.root, 'docs/figures.md'), 'utf8');
  await expect(proveCommand(dirty, ['feed'], collectOutput())).rejects.toThrow('--allow-dirty');
  expect(readFileSync(join(scratch.root, 'docs/figures.md'), 'utf8')).toBe(before);
  expect(await proveCommand(dirty, ['feed', '--allow-dirty'], collectOutput())).toBe(0);
  expect(readFileSync(join(scratch.root, 'docs/figures.md'), 'utf8')).toContain('with uncommitted changes');
});

test('prove: figures of an earlier proof are not an uncommitted change', async () => {
  using scratch = scratchRepository(files);
  const setting = settingIn(scratch.root, ['docs/figures.md']);
  expect(await proveCommand(setting, ['feed', '--seed', '1'], collectOutput())).toBe(0);
  expect(readFileSync(join(scratch.root, 'docs/figures.md'), 'utf8')).not.toContain('uncommitted');
});

test('prove --short: uses seed 1, writes no figures and ends with its count', async () => {
  using scratch = scratchRepository({ 'tests/prove/feed.prove.mjs': proofFile('feed') });
  const output = collectOutput();
  expect(await proveCommand(settingIn(scratch.root, ['a.ts']), ['feed', '--short'], output)).toBe(0);
  expect(output.lines).toContain('  seed seen: 1');
  expect(output.lines.at(-1)).toBe('1 passed, 0 failed');
});

test('prove: a failure and a throw exit with 1 and print the command that repeats them', async () => {
  using scratch = scratchRepository({
    'tests/prove/feed.prove.mjs': proofFile('feed', ['event 7 was skipped']),
    'tests/prove/thrown.prove.mjs': `export const proof = { name: 'thrown', proves: '', short: async () => { throw new Error('fell over'); } };`,
  });
  const output = collectOutput();
  expect(await proveCommand(settingIn(scratch.root), ['feed', '--short', '--seed', '3'], output)).toBe(1);
  expect(output.lines).toContain('  FAILED: event 7 was skipped');
  expect(output.lines).toContain('  run again: npm run prove -- feed --seed 3 --short');
  expect(await proveCommand(settingIn(scratch.root), ['thrown', '--short'], output)).toBe(1);
  expect(output.lines.some((line) => line.includes('fell over'))).toBe(true);
});

test('prove --all: runs each proof and prints both counts', async () => {
  using scratch = scratchRepository({
    'tests/prove/bad.prove.mjs': proofFile('bad'),
    'tests/prove/feed.prove.mjs': proofFile('feed'),
    'tests/prove/zoo.prove.mjs': proofFile('zoo'),
  });
  const output = collectOutput();
  expect(await proveCommand(settingIn(scratch.root), ['--all', '--short'], output)).toBe(1);
  expect(output.lines.at(-1)).toBe('2 passed, 1 failed');
});

test('prove --all: repeats a failed proof once and names it if it passes', async () => {
  using scratch = scratchRepository({
    'tests/prove/broken.prove.mjs': proofFile('broken'),
    'tests/prove/feed.prove.mjs': proofFile('feed'),
    'tests/prove/unsteady.prove.mjs': proofFile('unsteady'),
  });
  const runs: string[] = [];
  const again = ([name = '']: readonly string[]): Promise<number> => {
    runs.push(name);
    const isFirst = runs.filter((run) => run === name).length === 1;
    return Promise.resolve(name === 'broken' || (name === 'unsteady' && isFirst) ? 1 : 0);
  };
  const output = collectOutput();
  const code = await proveCommand({ ...settingIn(scratch.root), again }, ['--all', '--short'], output);
  expect(code).toBe(1);
  expect(runs).toEqual(['broken', 'feed', 'unsteady', 'broken', 'unsteady']);
  expect(output.lines).toContain('passed only when run again: unsteady');
  expect(output.lines.at(-1)).toBe('2 passed, 1 failed');
});

test('prove --all: proofs that wait run beside others, one per engine, and `alone` proofs run last', async () => {
  const keeping = (name: string, company: string) =>
    proofFile(name).replace(`name: '${name}'`, `name: '${name}', company: ${company}`);
  using scratch = scratchRepository({
    'tests/prove/alone.prove.mjs': keeping('alone', `'alone'`),
    'tests/prove/feed.prove.mjs': proofFile('feed'),
    'tests/prove/later.prove.mjs': keeping('later', `{ waitsFor: 'incus' }`),
    'tests/prove/patient.prove.mjs': keeping('patient', `{ waitsFor: 'ironic' }`),
    'tests/prove/incus.prove.mjs': keeping('incus', `{ waitsFor: 'incus' }`),
    'tests/prove/zoo.prove.mjs': proofFile('zoo'),
  });
  const seen: string[] = [];
  const ends = new Map<string, () => void>();
  const again = async ([name = '']: readonly string[]): Promise<number> => {
    seen.push(name);
    await new Promise<void>((resolve) => ends.set(name, resolve));
    return 0;
  };
  const running = proveCommand({ ...settingIn(scratch.root), again }, ['--all', '--short'], collectOutput());
  const ended = async (name: string): Promise<void> => {
    await expect.poll(() => ends.has(name)).toBe(true);
    ends.get(name)?.();
  };
  await ended('feed');
  await ended('zoo');
  expect(seen.toSorted()).toEqual(['feed', 'incus', 'patient', 'zoo']);
  for (const name of ['incus', 'later', 'patient']) await ended(name);
  await ended('alone');
  expect(await running).toBe(0);
});

test('prove --all: an optional proof counts neither as passed nor as failed', async () => {
  using scratch = scratchRepository({
    'tests/prove/feed.prove.mjs': proofFile('feed'),
    'tests/prove/optional.prove.mjs': `export const proof = { name: 'optional', proves: '', short: null };`,
  });
  const alone = collectOutput();
  expect(await proveCommand(settingIn(scratch.root), ['optional', '--short'], alone)).toBe(3);
  expect(alone.lines.at(-1)).toBe('0 passed, 0 failed');
  const all = collectOutput();
  expect(await proveCommand(settingIn(scratch.root), ['--all', '--short'], all)).toBe(0);
  expect(all.lines).toContain('not run: optional');
  expect(all.lines.at(-1)).toBe('1 passed, 0 failed');
});

test('prove: a proof that this machine cannot run names the missing requirement and writes no figures', async () => {
  const name = 'engine';
  // The scratch repository cannot import the class by its package.
  Object.assign(globalThis, { CannotProve: UnsupportedHostError });
  using scratch = scratchRepository({
    'tests/prove/engine.prove.mjs': `export const proof = {
      name: '${name}', proves: '', short: null,
      long: async () => { throw new globalThis.CannotProve('there is no /usr/bin/engine'); },
    };`,
  });
  const output = collectOutput();
  expect(await proveCommand(settingIn(scratch.root), [name], output)).toBe(3);
  expect(output.lines).toContain('  NOT RUN: there is no /usr/bin/engine');
  expect(output.lines.at(-1)).toBe('0 passed, 0 failed');
  expect(existsSync(join(scratch.root, 'docs/figures.md'))).toBe(false);
});

test('replaceSection: keeps sections in order of name', () => {
  const one = replaceSection('', 'b', '## b\n\ntwo\n');
  const both = replaceSection(one, 'a', '## a\n\none\n');
  expect(both.match(/^## .+$/gm)).toEqual(['## a', '## b']);
  expect(both.startsWith('# Figures\n')).toBe(true);
});
