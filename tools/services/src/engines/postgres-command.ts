import { chownSync, existsSync } from 'node:fs';
import path from 'node:path';

import type { Launch } from '../engine.ts';
import { runOrThrow } from '../processes.ts';

const versions = ['15', '16', '17', '18'];

function binFolder(): string {
  const folders = versions.map((version) => `/usr/lib/postgresql/${version}/bin`);
  const [preferred] = folders;
  if (preferred === undefined) throw new Error('no version of PostgreSQL is known');
  return folders.find((folder) => existsSync(path.join(folder, 'postgres'))) ?? preferred;
}

/** The path of a program of PostgreSQL, whether or not it is installed. */
export function postgresProgram(name: string): string {
  return path.join(binFolder(), name);
}

/** PostgreSQL refuses to run as root, so root switches to the user of its package. */
export function postgresCommand(
  name: string,
  args: readonly string[],
  options: { readonly isRoot?: boolean; readonly endsWithParent?: boolean } = {},
): Launch {
  const { isRoot = process.getuid?.() === 0, endsWithParent = false } = options;
  const file = postgresProgram(name);
  const asUser = isRoot ? ['--reuid=postgres', '--regid=postgres', '--init-groups'] : [];
  const settings = [...asUser, ...(endsWithParent ? ['--pdeathsig', 'KILL'] : [])];
  return settings.length === 0 ? { file, args } : { file: 'setpriv', args: [...settings, file, ...args] };
}

/** Returns a function that gives a file or folder to the user of the server. */
export async function postgresOwner(
  isRoot: boolean = process.getuid?.() === 0,
): Promise<(file: string) => void> {
  if (!isRoot) return () => undefined;
  const [uid, gid] = await Promise.all(
    ['-u', '-g'].map(async (flag) => Number(await runOrThrow('id', [flag, 'postgres']))),
  );
  if (uid === undefined || gid === undefined) throw new Error('user postgres has no ids');
  return (file) => chownSync(file, uid, gid);
}
