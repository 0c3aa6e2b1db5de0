import { readBuildInfo } from '@millrace/platform/release';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Settings that the trial creates: secrets, and the simulated machines. They are the same for all roles. */
export type TrialSettings = Readonly<Record<string, string>>;

interface Saved {
  readonly release: string;
  readonly settings: TrialSettings;
}

/** Roles of another release must not start before this release has migrated the database. */
function thisRelease(): string {
  const { version, commit } = readBuildInfo(null);
  return `${version} ${commit ?? ''}`;
}

export function saveTrialSettings(file: string, settings: TrialSettings, release = thisRelease()): void {
  const saved: Saved = { release, settings };
  writeSecret(file, JSON.stringify(saved));
}

/** Null if the trial is not prepared for this release. */
export function readTrialSettings(file: string, release = thisRelease()): TrialSettings | null {
  if (!existsSync(file)) return null;
  const saved = JSON.parse(readFileSync(file, 'utf8')) as Saved;
  return saved.release === release ? saved.settings : null;
}

/** Returns the content of a file that is created once. */
export function ensureFile(file: string, create: () => string): string {
  if (!existsSync(file)) writeSecret(file, create());
  return readFileSync(file, 'utf8');
}

/** The rename makes the write atomic, because containers wait for the files. */
function writeSecret(file: string, content: string): void {
  writeFileSync(`${file}.new`, content, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
