import { createHash } from 'node:crypto';
import { DriverError } from './driver-error.ts';

/** Where, inside a machine, that what `runUserData` started writes to. */
export const userDataLog = '/var/log/millrace-user-data.log';

export type UserDataKind = 'script' | 'cloud-config';

/** By its first characters, as cloud-init tells them apart. Refuses what cannot be started on a machine that runs. */
export function userDataKindOf(text: string): UserDataKind {
  if (text.startsWith('#!')) return 'script';
  if (/^#cloud-config\s/.test(text)) return 'cloud-config';
  throw new DriverError('unsupported', 'User data for a running machine begins with #! or #cloud-config.');
}

/** A name for the text, safe in a path: the same text has the same. */
export function userDataName(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
