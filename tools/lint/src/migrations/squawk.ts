import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

export interface SquawkFinding {
  readonly file: string;
  readonly line: number;
  readonly rule: string;
  readonly message: string;
}

interface Reported {
  readonly file: string;
  /** From 0. */
  readonly line: number;
  readonly message: string;
  readonly help: string | null;
  readonly rule_name: string;
}

const advice = 'Make this change in two releases.';

/** Runs squawk on migrations that the migrator runs inside a transaction, or on those that it runs outside. */
export function runSquawk(
  root: string,
  files: readonly string[],
  { inTransaction }: { readonly inTransaction: boolean },
): readonly SquawkFinding[] {
  if (files.length === 0) return [];
  const { stdout, stderr, error } = spawnSync(
    join(root, 'tools/run'),
    [
      ...['squawk', '--config', join(root, '.squawk.toml'), '--reporter', 'json'],
      ...(inTransaction ? ['--assume-in-transaction'] : []),
      ...files,
    ],
    { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
  );
  if (error !== undefined) throw error;
  return parseReport(stdout, stderr);
}

function parseReport(stdout: string, stderr: string): readonly SquawkFinding[] {
  try {
    return (JSON.parse(stdout) as readonly Reported[]).map(({ file, line, message, help, rule_name }) => ({
      file,
      line: line + 1,
      rule: rule_name,
      message: `${message} ${help ?? advice}`,
    }));
  } catch (cause) {
    throw new Error(`squawk printed no report: ${stderr.slice(0, 500)}${stdout.slice(0, 500)}`, { cause });
  }
}
