import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

/** Everything below a folder, folders included, sorted. */
export function listPaths(folder: string): readonly string[] {
  return fs
    .readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map((name) => path.join(folder, name));
}

/** Gives the folder and everything below it one time, and the modes of a package: readable by all, writable by the owner. */
export function normalizeTree(folder: string, seconds: number): void {
  for (const file of [folder, ...listPaths(folder)]) {
    const found = fs.lstatSync(file);
    const isExecutable = found.isDirectory() || (found.mode & 0o100) !== 0;
    fs.chmodSync(file, isExecutable ? 0o755 : 0o644);
    fs.utimesSync(file, seconds, seconds);
  }
}

/** Without folders, whose size depends on the file system. */
export function sizeOf(folder: string): number {
  const files = listPaths(folder).filter((file) => fs.lstatSync(file).isFile());
  return files.reduce((sum, file) => sum + fs.lstatSync(file).size, 0);
}

export function sha256Of(file: string): string {
  return createHash('sha256').update(fs.readFileSync(file)).digest('hex');
}
