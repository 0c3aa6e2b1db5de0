import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The release that runs while this one's migrations are applied. Written when a release is published. */
export interface PreviousRelease {
  readonly version: string;
  readonly commit: string;
}

export const previousReleaseFile = 'db/previous-release.json';

export function readPreviousRelease(root: string): PreviousRelease {
  const found = JSON.parse(readFileSync(join(root, previousReleaseFile), 'utf8')) as Partial<PreviousRelease>;
  const { version = '', commit = '' } = found;
  if (!/^\d+\.\d+\.\d+$/.test(version) || !/^[0-9a-f]{40}$/.test(commit)) {
    throw new Error(`${previousReleaseFile} must contain the version and the whole commit of a release.`);
  }
  return { version, commit };
}

/** The code of the previous release, read from the history of the clone. */
export interface PreviousCode {
  readonly migrations: ReadonlySet<string>;
  /** Files of the product that contain all of these words. */
  filesWith(words: readonly string[]): readonly string[];
}

const product = ['apps/*/src/*.ts', 'packages/*/src/*.ts'];
const notShipped = ['*.test.ts', '*.fixture.ts', '*.generated.ts', 'packages/testing/*'].map(
  (path) => `:!${path}`,
);

export function readPreviousCode(root: string, { commit, version }: PreviousRelease): PreviousCode {
  requireCommit(root, { commit, version });
  const listed = runGit(root, ['ls-tree', '--name-only', commit, 'db/migrations/']);
  return {
    migrations: new Set(listed.map((path) => path.replace('db/migrations/', ''))),
    filesWith: (words) => {
      const patterns = words.flatMap((word) => ['-e', word]);
      const paths = [...product, ...notShipped];
      return runGit(root, ['grep', '-l', '-w', '--all-match', ...patterns, commit, '--', ...paths]).map(
        (line) => line.slice(commit.length + 1),
      );
    },
  };
}

/** Throws in a shallow clone, which has no earlier commits. */
function requireCommit(root: string, { commit, version }: PreviousRelease): void {
  try {
    execFileSync('git', ['-C', root, 'cat-file', '-e', `${commit}^{commit}`], { stdio: 'ignore' });
  } catch (cause) {
    throw new Error(
      `This clone does not have commit ${commit}, from which release ${version} was made (${previousReleaseFile}). ` +
        'If the clone is shallow, run git fetch --unshallow. Otherwise fetch the branch that has the commit.',
      { cause },
    );
  }
}

/** The lines that git prints. Git grep ends with 1 if it finds nothing. */
function runGit(root: string, words: readonly string[]): string[] {
  try {
    const text = execFileSync('git', ['-C', root, ...words], {
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    return text.split('\n').filter((line) => line !== '');
  } catch (error) {
    const { status, stderr } = error as { readonly status?: number; readonly stderr?: string };
    if (status === 1 && stderr === '') return [];
    throw error;
  }
}
