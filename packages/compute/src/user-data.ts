import { createHash } from 'node:crypto';
import { DriverError } from './driver-error.ts';

/** Where, inside a machine, that what `runUserData` started writes to. */
export const userDataLog = '/var/log/millrace-user-data.log';

export type UserDataKind = 'script' | 'cloud-config';

/** By its first characters, as cloud-init tells them apart. Null: nothing could be started of it on a machine that runs. */
export function userDataKind(text: string): UserDataKind | null {
  if (text.startsWith('#!')) return 'script';
  return /^#cloud-config\s/.test(text) ? 'cloud-config' : null;
}

/** The same for drivers, which refuse what cannot be started. */
export function requireUserDataKind(text: string): UserDataKind {
  const kind = userDataKind(text);
  if (kind !== null) return kind;
  throw new DriverError('unsupported', 'User data for a running machine begins with #! or #cloud-config.');
}

/** A name for the text, safe in a path: the same text has the same. */
export function userDataDigestName(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
