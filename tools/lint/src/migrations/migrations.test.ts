import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { filesBelow, fixturesRoot, repositoryRoot } from '../fixtures.ts';
import { checkMigrations, newerMigrations } from './check-migrations.ts';
import { readPreviousCode, readPreviousRelease } from './previous-release.ts';
import { splitStatements } from './statements.ts';

const folder = mkdtempSync(join(tmpdir(), 'previous-release-'));
afterAll(() => rmSync(folder, { recursive: true }));
const git = (...words: readonly string[]): string =>
  execFileSync('git', ['-C', folder, '-c', 'user.name=t', '-c', 'user.email=t@example.com', ...words], {
    encoding: 'utf8',
  }).trim();

/** A repository whose product uses rentals.note, price_of and rentals_unique_name. Its tests use more. */
function commitPreviousRelease(): string {
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  };
  git('init', '--quiet');
  write('db/migrations/0001_first.sql', 'create table rentals (id bigint primary key, note text);');
  write(
    'packages/core/src/rentals.store.ts',
    "sql`select note from rentals`; throwOn('rentals_unique_name');",
  );
  write('packages/core/src/rentals.int.test.ts', 'sql`select colour, hours from rentals, tides`;');
  git('add', '.');
  git('commit', '--quiet', '--message', 'release');
  return git('rev-parse', 'HEAD');
}

const commit = commitPreviousRelease();
const release = { version: '0.4.0', commit };
const code = readPreviousCode(folder, release);
const fixtures = filesBelow(join(fixturesRoot, 'migrations'));
const findings = checkMigrations({ root: repositoryRoot, files: fixtures, release, code });

/** The findings that the marks of a fixture name: `LINE RULE`. */
function expectedIn(file: string): string[] {
  const lines = readFileSync(join(repositoryRoot, file), 'utf8').split('\n');
  return lines.flatMap((text, index) => {
    const [, rules = ''] = text.split('-- caught ');
    return rules.split(' ').flatMap((rule) => (rule === '' ? [] : [`${index + 1} ${rule}`]));
  });
}

const reportedIn = (file: string): string[] =>
  findings.filter((found) => found.file === file).map(({ line, rule }) => `${line} ${rule}`);

describe('checkMigrations', () => {
  test.each(fixtures)('reports the marked lines of %s and no others', (file) => {
    expect(reportedIn(file).toSorted()).toEqual(expectedIn(file).toSorted());
  });

  test('says how to drop a column: a release without it first, then a marker', () => {
    const messages = findings.filter(({ rule }) => rule === 'contract').map(({ message }) => message);
    expect(messages).toContain(
      'Release 0.4.0, which runs while this migration is applied, has the column rentals.note. ' +
        'First release code that does not use it. Then remove it with this line in the migration: ' +
        '-- contract: column rentals.note, unused since VERSION',
    );
  });

  test('names the file of the previous release that still uses a column, although a marker says otherwise', () => {
    const ofMarkers = findings.filter(({ file }) => file.endsWith('markers.sql'));
    expect(ofMarkers.map(({ message }) => message)).toEqual([
      expect.stringContaining(
        'but packages/core/src/rentals.store.ts of 0.4.0 does. Remove it one release later.',
      ),
      expect.stringContaining('is unused since 0.5.0, and the previous release is 0.4.0, which uses it.'),
      expect.stringContaining('has the column rentals.size.'),
    ]);
  });

  test('says what to do in each message', () => {
    const withoutAdvice = findings.filter(
      ({ message, rule }) => rule !== 'syntax-error' && !/[.:`] \S/.test(message),
    );
    expect(withoutAdvice).toEqual([]);
  });
});

test('newerMigrations leaves out the migrations of the previous release', () => {
  const files = ['db/migrations/0001_first.sql', 'db/migrations/0002_next.sql'];
  expect(newerMigrations(files, code)).toEqual(['db/migrations/0002_next.sql']);
});

test('readPreviousCode explains how to get the history in a clone without the commit', () => {
  const absent = { version: '0.4.0', commit: commit.replaceAll(/[0-9]/g, '0') };
  expect(() => readPreviousCode(folder, absent)).toThrow('run git fetch --unshallow');
});

test('readPreviousRelease refuses a file without a whole commit', () => {
  mkdirSync(join(folder, 'db'), { recursive: true });
  writeFileSync(join(folder, 'db/previous-release.json'), '{"version": "0.4.0", "commit": "abc"}');
  expect(() => readPreviousRelease(folder)).toThrow('whole commit');
  expect(readPreviousRelease(repositoryRoot).version).toMatch(/^\d+\.\d+\.\d+$/);
});

test('splitStatements keeps line numbers and ignores comments, texts and function bodies', () => {
  const sql = "-- one;\nselect ';',\n  2;\n\ncreate function f() as $$ a; b; $$;\ndrop table x";
  expect(splitStatements(sql)).toEqual([
    { text: 'select , 2', firstLine: 2, lastLine: 3 },
    { text: 'create function f() as', firstLine: 5, lastLine: 5 },
    { text: 'drop table x', firstLine: 6, lastLine: 6 },
  ]);
});
