import { expect, test } from 'vitest';
import { fixturesRoot, markedLines, runTool } from './fixtures.ts';
import { wordsOf } from './rules/glossary-words.ts';

interface Diagnostic {
  readonly message: string;
  readonly labels: readonly { readonly span: { readonly line: number } }[];
}

const file = `${fixturesRoot}/names/purse.ts`;

test('the linter reports the names and the file name that contain a refused word, and no others', async () => {
  const config = `--config=${fixturesRoot}/names.config.json`;
  const stdout = await runTool('oxlint', ['--format=json', config, file]);
  const { diagnostics } = JSON.parse(stdout) as { readonly diagnostics: readonly Diagnostic[] };
  const lines = new Set(diagnostics.map(({ labels }) => labels[0]?.span.line ?? 0));
  expect([...lines].toSorted((a, b) => a - b)).toEqual(markedLines(file));
  expect(diagnostics[0]?.message).toContain('docs/glossary.md');
});

test('a name is split at capitals, hyphens and dots; a name of SQL is left alone', () => {
  expect(wordsOf('readWishOf')).toEqual(['read', 'wish', 'of']);
  expect(wordsOf('held-lease.int.test.ts')).toEqual(['held', 'lease', 'int', 'test', 'ts']);
  expect(wordsOf('MAX_WISHES')).toEqual(['max', 'wishes']);
  expect(wordsOf('doomed_at')).toEqual([]);
});
