import { readBuildInfo } from '@millrace/platform/release';
import { existsSync, readFileSync } from 'node:fs';
import { writeSecret } from './secret-file.ts';

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
