import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { GroupId } from './system-groups.ts';

/** Folders for one installation, which the user of PostgreSQL can enter. */
export function createFolders(remove: (work: () => void) => void = onTestFinished): {
  readonly folder: string;
  readonly stateFolder: string;
} {
  const parent = mkdtempSync(join(tmpdir(), 'millrace-init-'));
  chmodSync(parent, 0o755);
  const stateFolder = join(parent, 'state');
  for (const engine of ['nats', 'valkey', 'restate'])
    mkdirSync(join(stateFolder, engine), { recursive: true });
  remove(() => rmSync(parent, { recursive: true, force: true }));
  return { folder: join(parent, 'etc'), stateFolder };
}

/** The group of this user instead of the groups of the services. */
export const ownGroup: GroupId = async () => process.getgid?.() ?? 0;

/** A test server of root runs as user postgres, which then has to read its certificate. */
export const groupOfPostgres: GroupId = async (group) => {
  const isRoot = process.getuid?.() === 0;
  if (!isRoot) return null;
  return group === 'postgres' ? Number(execFileSync('id', ['-g', 'postgres'], { encoding: 'utf8' })) : 0;
};

export interface FoundFile {
  readonly content: string;
  readonly mode: number;
  readonly modifiedMs: number;
}

/** All files below a folder by their relative path. */
export function readFiles(folder: string): Readonly<Record<string, FoundFile>> {
  const names = readdirSync(folder, { recursive: true }).map(String).toSorted();
  const files = names.filter((name) => statSync(join(folder, name)).isFile());
  return Object.fromEntries(
    files.map((name) => {
      const path = join(folder, name);
      const { mode, mtimeMs } = statSync(path);
      return [name, { content: readFileSync(path, 'utf8'), mode: mode & 0o7777, modifiedMs: mtimeMs }];
    }),
  );
}
