import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Returns the content of a file that is created once. */
export function ensureSecret(file: string, create: () => string): string {
  if (!existsSync(file)) writeSecret(file, create());
  return readFileSync(file, 'utf8');
}

/** The rename makes the write atomic, because containers wait for the files. */
export function writeSecret(file: string, content: string): void {
  writeFileSync(`${file}.new`, content, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
