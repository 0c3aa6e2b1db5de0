import { createHash } from 'node:crypto';
import { DriverError } from './driver-error.ts';

/** File inside the machine with the output of `runUserData`. */
export const userDataLog = '/var/log/millrace-user-data.log';

export type UserDataKind = 'script' | 'cloud-config';

/** Decides by the first characters, like cloud-init. Null: cannot be started on a running machine. */
export function userDataKind(text: string): UserDataKind | null {
  if (text.startsWith('#!')) return 'script';
  return /^#cloud-config\s/.test(text) ? 'cloud-config' : null;
}

export function requireUserDataKind(text: string): UserDataKind {
  const kind = userDataKind(text);
  if (kind !== null) return kind;
  throw new DriverError(
    'unsupported',
    'User data for a running machine must begin with #! or #cloud-config.',
  );
}

/** A digest that is safe in a path. */
export function userDataDigestName(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
