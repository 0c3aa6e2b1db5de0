import { execFile } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

export const repositoryRoot = join(import.meta.dirname, '../../..');
export const fixturesRoot = 'tools/lint/fixtures';
const caughtMarker = '// caught';

/** Paths of all files below a folder, relative to the repository root. */
export function filesBelow(folder: string): string[] {
  return readdirSync(join(repositoryRoot, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(repositoryRoot, join(entry.parentPath, entry.name)))
    .toSorted();
}

/** Numbers of the lines that must be reported. */
export function markedLines(file: string): number[] {
  const lines = readFileSync(join(repositoryRoot, file), 'utf8').split('\n');
  return lines.flatMap((line, index) => (line.includes(caughtMarker) ? [index + 1] : []));
}

/** Runs a tool and returns its standard output. The exit code is ignored, because fixtures always have findings. */
export async function runTool(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      join(repositoryRoot, 'tools/run'),
      [command, ...args],
      { cwd: repositoryRoot, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        if (error && stdout === '')
          reject(new Error(`${command} printed nothing: ${stderr}`, { cause: error }));
        else resolve(stdout);
      },
    );
  });
}

/** A finding about a folder names the folder, while the marks are in its files. */
export function isSameLocation(found: string, markedFile: string): boolean {
  return found === markedFile || found === dirname(markedFile);
}
