import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { anchorsOf, brokenReferences } from './docs.ts';

const root = join(import.meta.dirname, '../../..');
const skipped = new Set(['node_modules', '.millrace', '.git', 'coverage', 'dist']);
const files = globSync('**/*.md', { cwd: root, exclude: (name) => skipped.has(name) });
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};
const known = new Set(Object.keys(scripts));

test('documents: every relative link, file and npm script exists', () => {
  expect(files).toContain('README.md');
  const pages = files.map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));
  expect(pages.flatMap((page) => brokenReferences(page, root, known))).toEqual([]);
});

test('brokenReferences reports a dead link, a dead anchor, a missing file and an unknown script', () => {
  const text = [
    '# Some page',
    '[gone](docs/gone.md) [here](README.md#try-it) [there](README.md#nowhere) [web](https://example.com/gone.md)',
    '[up](#some-page) [down](#other-page) `docs/nowhere.ts` `docs/interface.md`',
    'npm run check, npm run --silent nothing',
    '```',
    '[in a block](docs/not-a-link.md)',
    '```',
  ].join('\n');
  expect(brokenReferences({ file: 'PAGE.md', text }, root, known)).toEqual([
    'PAGE.md: docs/gone.md',
    'PAGE.md: README.md#nowhere',
    'PAGE.md: #other-page',
    'PAGE.md: docs/nowhere.ts',
    'PAGE.md: nothing',
  ]);
});

test('anchorsOf returns the anchors of GitHub', () => {
  expect([...anchorsOf('# A b\n## `c`: d/e\n```\n# not one\n```\n### VALIDATION_FAILED\n')]).toEqual([
    'a-b',
    'c-de',
    'validation_failed',
  ]);
});

test('the guide to running an installation lists exactly the existing settings', () => {
  const sources = [
    ...globSync('packages/platform/src/config/*.ts', { cwd: root }).filter(
      (file) => !file.endsWith('.test.ts'),
    ),
    'apps/api/src/config.ts',
    'apps/worker/src/config.ts',
  ];
  const declared = sources.flatMap((file) => settingsIn(file, /\benv: '(MILLRACE_\w+)'/g));
  const documented = settingsIn('docs/guides/running.md', /(MILLRACE_\w+)/g);
  expect([...new Set(documented)].toSorted()).toEqual([...new Set(declared)].toSorted());
});

test('the guide to running an installation lists exactly the secrets that may be in files', () => {
  const folders = ['packages/platform/src/config/*.ts', 'apps/*/src/config.ts'];
  const sources = globSync(folders, { cwd: root }).filter((file) => !file.endsWith('.test.ts'));
  const declared = sources.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split(/\benv: '/)
      .filter((variable) => /\bsecret: true,/.test(variable))
      .map((variable) => variable.slice(0, variable.indexOf("'"))),
  );
  const guide = readFileSync(join(root, 'docs/guides/running.md'), 'utf8');
  const section = guide.slice(guide.indexOf('### Secrets in files'), guide.indexOf('### Every process'));
  const documented = [...section.matchAll(/(MILLRACE_\w+)/g)].map(([name]) => name);
  expect(documented.toSorted()).toEqual([...new Set(declared)].toSorted());
});

function settingsIn(file: string, pattern: RegExp): string[] {
  return [...readFileSync(join(root, file), 'utf8').matchAll(pattern)].map(([, name = '']) => name);
}
