import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };

/** The release that runs, reported by every process. */
export interface BuildInfo {
  readonly version: string;
  /** Null if it is unknown: neither configured nor in a clone of the repository. */
  readonly commit: string | null;
}

const repository = join(import.meta.dirname, '../../../..');

/** All packages of a release have one version. The commit is the configured one or that of the clone. */
export function readBuildInfo(commit: string | null, root = repository): BuildInfo {
  return { version: manifest.version, commit: commit ?? readGitCommit(join(root, '.git')) };
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
