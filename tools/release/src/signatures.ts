import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { sha256Of } from './files.ts';

const CHECKSUMS = 'SHA256SUMS';

/** Writes the checksums of all files in the folder, in the form that `sha256sum --check` reads. */
export function writeChecksums(folder: string): string {
  const names = fs
    .readdirSync(folder)
    .filter((name) => !name.startsWith(CHECKSUMS))
    .toSorted();
  const lines = names.map((name) => `${sha256Of(path.join(folder, name))}  ${name}\n`);
  const file = path.join(folder, CHECKSUMS);
  fs.writeFileSync(file, lines.join(''));
  return file;
}

/** Signs the checksums with a secret key of minisign, and states the version in the signed comment. */
export function signChecksums(checksums: string, secretKey: string, version: string): void {
  const comment = ['-t', `millrace ${version}`];
  // minisign asks for the password of the key.
  execFileSync('minisign', ['-S', '-s', secretKey, '-m', checksums, ...comment], { stdio: 'inherit' });
}
