import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { productFolder } from './product-folder.ts';

/** The release that runs, reported by every process. */
export interface BuildInfo {
  readonly version: string;
  /** Null if it is unknown: neither configured, nor in a package or a clone of the repository. */
  readonly commit: string | null;
}

/** All parts of a release have the version of its manifest. The commit is the configured one, the package's or that of the clone. */
export function readBuildInfo(commit: string | null, root = productFolder): BuildInfo {
  const release = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Readonly<
    Record<string, unknown>
  >;
  return {
    version: String(release['version']),
    commit: commit ?? packagedCommit(release) ?? readGitCommit(join(root, '.git')),
  };
}

/** The build of a package writes the commit to its manifest. */
function packagedCommit(release: Readonly<Record<string, unknown>>): string | null {
  return typeof release['commit'] === 'string' ? release['commit'] : null;
}

function readGitCommit(folder: string): string | null {
  const head = readText(join(folder, 'HEAD'));
  const [, ref] = /^ref: (\S+)$/.exec(head) ?? [];
  const found = ref === undefined ? head : readText(join(folder, ref)) || findPackedRef(folder, ref);
  return /^[0-9a-f]{40,64}$/.test(found) ? found : null;
}

/** Git moves refs that rarely change into one file with a line `<commit> <ref>` for each. */
function findPackedRef(folder: string, ref: string): string {
  const lines = readText(join(folder, 'packed-refs')).split('\n');
  return lines.find((line) => line.endsWith(` ${ref}`))?.split(' ')[0] ?? '';
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}
