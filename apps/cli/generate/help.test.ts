import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCli } from '../src/fixture.ts';
import { helpTopics } from '../src/framework/help.ts';
import { manifest } from '../src/manifest.generated.ts';

/** One golden file of help texts per first word, so that every change of a text is reviewed. */
const directory = join(import.meta.dirname, '..', 'golden');
const nouns = [
  ...new Set(manifest.filter(({ hidden }) => hidden !== true).map(({ name }) => name.split(' ')[0] ?? '')),
];

async function help(...words: readonly string[]): Promise<string> {
  const run = await runCli([...words, '--help'], {
    fetch: () => Promise.reject(new Error('Help must not use the network.')),
    apiKey: null,
  });
  expect([run.code, run.stderr], words.join(' ')).toEqual([0, '']);
  const widest = Math.max(
    ...run.stdout.split('\n').map((line) => (line.includes('millrace') ? 0 : line.length)),
  );
  expect(widest, words.join(' ')).toBeLessThanOrEqual(100);
  return `$ millrace ${[...words, '--help'].join(' ')}\n${run.stdout}`;
}

it('the root help matches its golden file', async () => {
  await expect(await help()).toMatchFileSnapshot(join(directory, 'millrace.txt'));
});

it('the help topics match their golden file', async () => {
  const pages = await Promise.all(
    Object.keys(helpTopics).map(async (topic) => {
      const { stdout } = await runCli(['help', topic], { apiKey: null });
      return `$ millrace help ${topic}\n${stdout}`;
    }),
  );
  await expect(pages.join('\n')).toMatchFileSnapshot(join(directory, 'topics.txt'));
});

it.each(nouns)('millrace %s --help matches its golden file', async (noun) => {
  const names = manifest
    .filter(({ name, hidden }) => hidden !== true && name.split(' ')[0] === noun)
    .map(({ name }) => name);
  const own = names.includes(noun) ? [] : [await help(noun)];
  const pages = await Promise.all(names.map((name) => help(...name.split(' '))));
  await expect([...own, ...pages].join('\n')).toMatchFileSnapshot(join(directory, `${noun}.txt`));
});

it('there is no golden file for a removed command', async () => {
  const stored = (await readdir(directory)).map((name) => name.replace('.txt', ''));
  expect(stored.filter((name) => !['millrace', 'topics', ...nouns].includes(name))).toEqual([]);
});
