import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { UnsupportedHostError } from '@millrace/runners';

const run = promisify(execFile);

/** Throws if this machine cannot run the proof, before anything is downloaded. `needed` maps files to their sources. */
export function requireFiles(needed: Readonly<Record<string, string>>): void {
  if (process.arch !== 'x64' || process.platform !== 'linux') {
    throw new UnsupportedHostError('the emulated machine needs Linux on x86-64.');
  }
  if (process.getuid?.() !== 0) {
    throw new UnsupportedHostError('creating namespaces, mounts and networks needs root.');
  }
  const missing = Object.entries(needed).filter(([file]) => !existsSync(file));
  if (missing.length === 0) return;
  const list = missing.map(([file, source]) => `${file} (from ${source})`).join(', ');
  throw new UnsupportedHostError(`this machine lacks ${list}.`);
}

/** Returns the cache folder of a recipe. Interrupted builds start again; folders of earlier recipes are deleted. */
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
  /** Unpacked with the libraries that they need. */
  readonly programs: readonly string[];
  /** Unpacked without their dependencies, because only single files are used. */
  readonly alone?: readonly string[];
}

/** Downloads missing packages and unpacks them into the cache without installing them. Returns the folder that represents `/`. */
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
    // Older packages put files beside /usr that belong into it now. The dot copies the contents of a folder.
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
      `apt cannot find ${programs.join(' ')}. Is a mirror of Debian 12 configured?`,
      {
        cause: error,
      },
    );
  });
  return [...stdout.matchAll(/^Inst (\S+) /gmu)].map(([, name = '']) => name);
}

export type Tool = (file: string, ...args: readonly string[]) => Promise<string>;

/** Runs programs as if the packages were installed, each in a private mount namespace. */
export function toolRunner(unpacked: string): Tool {
  return async (file, ...args) => {
    const words = unshareArgs(unpacked, file, ...args);
    const { stdout } = await run('unshare', words, { timeout: 900_000, maxBuffer: 64 * 1_048_576 });
    return stdout;
  };
}

/** For `unshare`, which execs the program, so that both are one process. */
export function unshareArgs(unpacked: string, file: string, ...args: readonly string[]): readonly string[] {
  const script = 'mount -t overlay overlay -o "lowerdir=$0/usr:/usr" /usr && exec "$@"';
  return ['--mount', '--propagation', 'private', 'sh', '-ec', script, unpacked, file, ...args];
}
