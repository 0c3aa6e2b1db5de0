import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { UnsupportedHostError } from '@millrace/runners';

const run = promisify(execFile);

/** Says what this machine lacks, before anything is fetched or made. `needed`: files, and what brings them. */
export function requireFiles(needed: Readonly<Record<string, string>>): void {
  if (process.arch !== 'x64' || process.platform !== 'linux') {
    throw new UnsupportedHostError('the emulated machine is made for Linux on x86-64.');
  }
  if (process.getuid?.() !== 0) {
    throw new UnsupportedHostError('it takes root to make namespaces, mounts and networks.');
  }
  const missing = Object.entries(needed).filter(([file]) => !existsSync(file));
  if (missing.length === 0) return;
  const list = missing.map(([file, source]) => `${file} (from ${source})`).join(', ');
  throw new UnsupportedHostError(`this machine lacks ${list}.`);
}

/**
 * A folder of the cache for this recipe: whole, or not there. What was killed half way is made again, and what was made by
 * an earlier recipe is thrown away.
 */
export async function cachedBuild(
  cache: string,
  kind: string,
  recipe: string,
  make: (draft: string) => Promise<void>,
): Promise<string> {
  const folder = path.join(
    cache,
    `${kind}-${createHash('sha256').update(recipe).digest('hex').slice(0, 12)}`,
  );
  if (existsSync(folder)) return folder;
  for (const old of globSync(path.join(cache, `${kind}-*`))) rmSync(old, { recursive: true });
  const draft = `${folder}.draft`;
  mkdirSync(draft, { recursive: true });
  await make(draft);
  renameSync(draft, folder);
  return folder;
}

export interface Packages {
  /** With the libraries that they need. */
  readonly programs: readonly string[];
  /** For a file of them: what they need on a host does not matter. */
  readonly alone?: readonly string[];
}

/**
 * Fetches the packages that this machine has not and unpacks them into a folder of the cache: nothing is installed, and
 * the machine stays as it was. Gives the folder that stands for `/`.
 */
export async function unpackPackages(cache: string, packages: Packages): Promise<string> {
  const { programs, alone = [] } = packages;
  const wanted = [...(await missingPackages(programs)), ...alone].toSorted();
  const folder = await cachedBuild(cache, 'packages', wanted.join(' '), async (draft) => {
    await run('apt-get', ['-qq', 'download', ...wanted], { cwd: draft, timeout: 600_000 }).catch(
      (error: unknown) => {
        throw new UnsupportedHostError(`apt cannot fetch ${wanted.join(' ')}.`, { cause: error });
      },
    );
    const root = path.join(draft, 'root');
    for (const name of ['bin', 'sbin']) mkdirSync(path.join(root, 'usr', name), { recursive: true });
    for (const file of globSync(path.join(draft, '*.deb'))) {
      await run('dpkg-deb', ['-x', file, root]);
      rmSync(file);
    }
    // Packages of this age still write beside /usr what is a part of it by now. The dot means the contents of a folder.
    for (const each of ['bin', 'lib', 'sbin'].filter((beside) => existsSync(path.join(root, beside)))) {
      await run('cp', ['-a', `${root}/${each}/.`, path.join(root, 'usr', each)]);
    }
  });
  return path.join(folder, 'root');
}

async function missingPackages(programs: readonly string[]): Promise<readonly string[]> {
  const args = ['--simulate', '--no-install-recommends', 'install', ...programs];
  const { stdout } = await run('apt-get', args).catch((error: unknown) => {
    throw new UnsupportedHostError(
      `apt knows no way to ${programs.join(' ')}; is a mirror of Debian 12 configured?`,
      {
        cause: error,
      },
    );
  });
  return [...stdout.matchAll(/^Inst (\S+) /gmu)].map(([, name = '']) => name);
}

export type Tool = (file: string, ...args: readonly string[]) => Promise<string>;

/** Runs programs as if the packages were installed, each in mounts of its own that go with it. */
export function toolRunner(unpacked: string): Tool {
  return async (file, ...args) => {
    const words = unshareArgs(unpacked, file, ...args);
    const { stdout } = await run('unshare', words, { timeout: 900_000, maxBuffer: 64 * 1_048_576 });
    return stdout;
  };
}

/** For `unshare`, which becomes the program: who ends the one ends the other. */
export function unshareArgs(unpacked: string, file: string, ...args: readonly string[]): readonly string[] {
  const script = 'mount -t overlay overlay -o "lowerdir=$0/usr:/usr" /usr && exec "$@"';
  return ['--mount', '--propagation', 'private', 'sh', '-ec', script, unpacked, file, ...args];
}
