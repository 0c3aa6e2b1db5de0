import { execFile } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

export const repositoryRoot = join(import.meta.dirname, '../../..');
export const fixturesRoot = 'tools/lint/fixtures';
const caughtMarker = '// caught';

/** Every file below a folder, as paths from the repository's root. */
export function filesBelow(folder: string): string[] {
  return readdirSync(join(repositoryRoot, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(repositoryRoot, join(entry.parentPath, entry.name)))
    .toSorted();
}

/** The numbers of the lines that a fixture says must be reported. */
export function markedLines(file: string): number[] {
  const lines = readFileSync(join(repositoryRoot, file), 'utf8').split('\n');
  return lines.flatMap((line, index) => (line.includes(caughtMarker) ? [index + 1] : []));
}

/**
 * Runs one of the repository's tools as `npm run check` does and gives its standard output. A linter that
 * found something exits with 1, which is what fixtures are for, so the exit code says nothing here.
 */
export async function runTool(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      join(repositoryRoot, 'tools/run'),
      [command, ...args],
      { cwd: repositoryRoot, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        if (error && stdout === '') reject(new Error(`${command} said nothing: ${stderr}`, { cause: error }));
        else resolve(stdout);
      },
    );
  });
}

/** A folder-wide finding names the folder; the fixture's marks are in the files directly inside it. */
export function isSameLocation(found: string, markedFile: string): boolean {
  return found === markedFile || found === dirname(markedFile);
}
