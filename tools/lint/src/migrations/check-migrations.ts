import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { readContracts } from '@millrace/platform/db';
import { explainRemovals } from './contract.ts';
import type { PreviousCode, PreviousRelease } from './previous-release.ts';
import { removalsOf } from './removals.ts';
import { runSquawk, type SquawkFinding } from './squawk.ts';
import { createdTables, splitStatements, tableOf, type Statement } from './statements.ts';

export interface MigrationFinding {
  readonly file: string;
  readonly line: number;
  readonly rule: string;
  readonly message: string;
}

export interface MigrationCheck {
  readonly root: string;
  /** All migrations that are newer than the previous release. Paths from `root`. */
  readonly files: readonly string[];
  readonly release: PreviousRelease;
  readonly code: PreviousCode;
}

interface ParsedFile {
  readonly file: string;
  readonly sql: string;
  readonly statements: readonly Statement[];
}

/** Rules of squawk on changes that a marker allows, because they only affect processes that use the object. */
const contractRules = new Set([
  'ban-drop-column',
  'ban-drop-table',
  'renaming-column',
  'renaming-table',
  'require-concurrent-index-deletion',
]);

const isSyntaxError = ({ rule }: SquawkFinding): boolean => rule === 'syntax-error';

/** Which statements of new migrations would stop or disturb the previous release, which runs at the same time. */
export function checkMigrations({ root, files, release, code }: MigrationCheck): readonly MigrationFinding[] {
  const parsed = files.map((file): ParsedFile => {
    const sql = readFileSync(join(root, file), 'utf8');
    return { file, sql, statements: splitStatements(sql) };
  });
  const created = createdTables(parsed.flatMap(({ statements }) => statements));
  const isOnNewTable = (statement: Statement): boolean => created.has(tableOf(statement) ?? '');
  const findings = squawkAll(root, parsed);
  return parsed.flatMap(({ file, sql, statements }) => {
    const markers = readContracts(sql);
    const ofFile = findings.filter((found) => found.file === file);
    const ofStatements = statements
      .filter((statement) => !isOnNewTable(statement))
      .flatMap((statement) => {
        const removals = removalsOf(statement);
        const own = [
          ...explainRemovals({ removals, markers, release, code }),
          ...checkStatement(statement, sql),
        ].map((found) => ({ ...found, file, line: statement.firstLine }));
        const ofSquawk = findingsIn(statement, ofFile).filter(
          (found) => !isSyntaxError(found) && (removals.length === 0 || !contractRules.has(found.rule)),
        );
        return [...own, ...ofSquawk];
      });
    return [...ofFile.filter(isSyntaxError), ...checkIgnored(file, sql), ...ofStatements];
  });
}

function squawkAll(root: string, parsed: readonly ParsedFile[]): readonly SquawkFinding[] {
  const outside = parsed.filter(({ sql }) => /^-- no-transaction$/m.test(sql));
  const inside = parsed.filter((each) => !outside.includes(each));
  const files = (of: readonly ParsedFile[]): readonly string[] => of.map(({ file }) => file);
  return [
    ...runSquawk(root, files(inside), { inTransaction: true }),
    ...runSquawk(root, files(outside), { inTransaction: false }),
  ];
}

const findingsIn = (
  { firstLine, lastLine }: Statement,
  findings: readonly SquawkFinding[],
): readonly SquawkFinding[] => findings.filter(({ line }) => line >= firstLine && line <= lastLine);

/** Changes that squawk accepts and that disturb the previous release. */
function checkStatement(
  statement: Statement,
  sql: string,
): readonly Pick<MigrationFinding, 'rule' | 'message'>[] {
  const { text, firstLine } = statement;
  const isIgnored = (rule: string): boolean =>
    sql
      .split('\n')
      .slice(0, firstLine - 1)
      .at(-1)
      ?.trim() === `-- squawk-ignore ${rule}`;
  const refusals: readonly (readonly [RegExp, string, string])[] = [
    [
      /^revoke /,
      'revoke-right',
      'The previous release may need this right. If it does not, put -- squawk-ignore revoke-right above the line, and its reason above that.',
    ],
    [
      /^(?:set|reset) (?:local |session )?(?:lock_timeout|statement_timeout)/,
      'own-timeout',
      'Remove this line: the migrator sets lock_timeout for every statement, so that traffic does not queue behind a migration.',
    ],
    [
      /^(?:lock table|truncate|cluster|vacuum full|reindex)\b/,
      'blocks-traffic',
      'This blocks every reader of the table. Change rows in small batches from a worker, or build a new object beside the old one.',
    ],
  ];
  return refusals
    .filter(([pattern, rule]) => pattern.test(text) && !isIgnored(rule))
    .map(([, rule, message]) => ({ rule, message }));
}

/** A contract needs a marker, which is checked; a comment that ignores the rule is not. */
function checkIgnored(file: string, sql: string): readonly MigrationFinding[] {
  return sql.split('\n').flatMap((text, index) => {
    const [, scope, rules = ''] = /^\s*-- squawk-ignore(-file)? ?(.*)$/.exec(text) ?? [];
    const isContract = rules.split(/[, ]/).some((rule) => contractRules.has(rule));
    const isWhole = scope !== undefined || (text.includes('squawk-ignore') && rules === '');
    if (!isContract && !isWhole) return [];
    const message = isContract
      ? 'This rule has no exceptions. Name the object in a -- contract: line.'
      : 'Name one rule above one statement: -- squawk-ignore RULE.';
    return [{ file, line: index + 1, rule: 'ignored-contract', message }];
  });
}

export function formatFinding({ file, line, rule, message }: MigrationFinding): string {
  return `${file}:${line}: ${rule}: ${message}`;
}

/** The migrations that the previous release does not have. */
export function newerMigrations(files: readonly string[], code: PreviousCode): readonly string[] {
  return files.filter((file) => !code.migrations.has(basename(file)));
}
