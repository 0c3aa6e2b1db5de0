import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { UnsupportedHostError } from '@millrace/runners';
import { defaultCacheDir, withLock } from '@millrace/services';
import { cachedBuild } from '../builds/build-cache.ts';

const execute = promisify(execFile);
const root = path.join(import.meta.dirname, '../../..');
const BUILD_TIMEOUT_MS = 1_800_000;

export interface PreviousRelease {
  readonly version: string;
  readonly commit: string;
  /** As `npm run release -- server` writes it. */
  readonly folder: string;
}

/** The programs of the release in `db/previous-release.json`, built with the tools and packages of its own commit. */
export async function buildPreviousRelease(note: (line: string) => void): Promise<PreviousRelease> {
  const file = readFileSync(path.join(root, 'db/previous-release.json'), 'utf8');
  const { version, commit } = JSON.parse(file) as { readonly version: string; readonly commit: string };
  await requireCommit(version, commit);
  const cache = path.join(defaultCacheDir(), 'previous-release');
  const built = await withLock(`${cache}.lock`, note, () =>
    cachedBuild(cache, 'server', commit, async (draft) => {
      note(`building ${version} from commit ${commit.slice(0, 12)}`);
      await buildCommit(commit, path.join(draft, 'server'));
    }),
  );
  return { version, commit, folder: path.join(built, 'server') };
}

async function requireCommit(version: string, commit: string): Promise<void> {
  await execute('git', ['-C', root, 'cat-file', '-e', `${commit}^{commit}`]).catch((error: unknown) => {
    throw new UnsupportedHostError(
      `this clone lacks commit ${commit}, from which release ${version} is built. Run git fetch --unshallow, or git fetch --all.`,
      { cause: error },
    );
  });
}

async function buildCommit(commit: string, into: string): Promise<void> {
  const clone = mkdtempSync(path.join(tmpdir(), 'mr-release-'));
  const inClone = { cwd: clone, timeout: BUILD_TIMEOUT_MS, maxBuffer: 64 * 1_048_576 };
  try {
    await execute('git', ['clone', '--quiet', '--shared', '--no-checkout', root, clone]);
    await execute('git', ['checkout', '--quiet', '--detach', commit], inClone);
    await execute('npm', ['ci', '--no-audit', '--no-fund', '--prefer-offline'], inClone);
    await execute('npm', ['run', '--silent', 'release', '--', 'server', '--into', into], inClone);
  } finally {
    rmSync(clone, { recursive: true, force: true });
  }
}
