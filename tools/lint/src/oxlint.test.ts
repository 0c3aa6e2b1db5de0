import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { filesBelow, fixturesRoot, markedLines, repositoryRoot, runTool } from './fixtures.ts';

interface Diagnostic {
  readonly code?: string;
  readonly filename: string;
  readonly message: string;
  readonly labels: readonly { readonly span: { readonly line: number } }[];
}

interface LintConfig {
  readonly rules: Readonly<Record<string, unknown>>;
  readonly overrides: readonly { readonly rules: Readonly<Record<string, unknown>> }[];
}

const root = `${fixturesRoot}/lint`;
const isOff = (setting: unknown): boolean => setting === 'off';

/** Parses JSON with comments. Comments have lines of their own. */
function readLintConfig(): LintConfig {
  const text = readFileSync(join(repositoryRoot, '.oxlintrc.json'), 'utf8');
  return JSON.parse(text.replaceAll(/^\s*\/\/.*$/gm, '')) as LintConfig;
}

function rulesInForce(): string[] {
  const config = readLintConfig();
  const all = [config.rules, ...config.overrides.map((override) => override.rules)].flatMap((rules) =>
    Object.entries(rules),
  );
  return [...new Set(all.filter(([, setting]) => !isOff(setting)).map(([rule]) => rule))].toSorted();
}

/** Files in lint/<plugin>/<rule>/ are the fixture of that rule; the clean tree belongs to no rule. */
function ruleOf(file: string): string | undefined {
  const [plugin, rule] = file.slice(root.length + 1).split('/');
  return plugin === 'clean' ? undefined : `${plugin}/${rule}`;
}

const fixtureFiles = filesBelow(root);

const stdout = await runTool('oxlint', [
  '--format=json',
  `--config=${fixturesRoot}/oxlint.config.json`,
  root,
]);
const diagnostics = (JSON.parse(stdout) as { diagnostics: Diagnostic[] }).diagnostics;

test('oxlint: every rule of .oxlintrc.json has a fixture, and every fixture a rule', () => {
  const fixtures = new Set(fixtureFiles.map(ruleOf).filter((rule) => rule !== undefined));
  expect([...fixtures].toSorted()).toEqual(rulesInForce());
});

test('oxlint: reports nothing for the clean fixture', () => {
  expect(diagnostics.filter((found) => ruleOf(found.filename) === undefined)).toEqual([]);
});

describe('oxlint reports exactly the marked lines of each fixture', () => {
  test.each(rulesInForce())('%s', (rule) => {
    const files = fixtureFiles.filter((file) => ruleOf(file) === rule);
    const expected = files.flatMap((file) => markedLines(file).map((line) => `${rule} ${file}:${line}`));
    const found = diagnostics
      .filter((diagnostic) => ruleOf(diagnostic.filename) === rule)
      .map((diagnostic) => {
        const code = diagnostic.code?.replace(/^(.+)\((.+)\)$/, '$1/$2') ?? diagnostic.message;
        return `${code} ${diagnostic.filename}:${diagnostic.labels[0]?.span.line ?? 0}`;
      });
    expect(expected.length, 'a fixture marks at least one line').toBeGreaterThan(0);
    expect([...new Set(found)].toSorted()).toEqual(expected.toSorted());
  });
});

test('house rules: each message says what to use instead', () => {
  const house = diagnostics.filter((found) => found.code?.startsWith('house(') === true);
  for (const found of house) expect(found.message.length, found.code).toBeGreaterThan(80);
});
