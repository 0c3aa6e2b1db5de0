import { createHash } from 'node:crypto';

import type { Site } from '../site.ts';
import { prefixPlaceholder, readAdminJson } from './admin-json.ts';
import { siteSecret } from './site-secrets.ts';

const roles = ['api', 'worker', 'gateway'] as const;
type ValkeyRole = (typeof roles)[number];

export interface ValkeyLogin {
  readonly user: string;
  readonly password: string;
}

export type ValkeyLogins = Readonly<Record<ValkeyRole, ValkeyLogin>>;

/** Created once per state folder. */
export function valkeyLogins(site: Site): ValkeyLogins {
  const login = (role: ValkeyRole): ValkeyLogin => ({
    user: `millrace-${role}`,
    password: siteSecret(site, `valkey-${role}`),
  });
  return { api: login('api'), worker: login('worker'), gateway: login('gateway') };
}

/** May do everything, for tests and readiness checks. */
export function valkeySuperuser(site: Site): ValkeyLogin {
  return { user: 'all', password: siteSecret(site, 'valkey-all') };
}

/** The users of `millrace-admin valkey users`. Tests with different prefixes share them. */
export function renderAclFile(site: Site): string {
  // The command of this checkout wrote it, so its shape is known.
  const rules = readAdminJson(['valkey', 'users']) as Readonly<Record<ValkeyRole, string>>;
  const logins = valkeyLogins(site);
  return [
    'user default off resetchannels -@all',
    ...roles.map((role) => renderUser(logins[role], rules[role].replaceAll(prefixPlaceholder, '*'))),
    renderUser(valkeySuperuser(site), '~* &* +@all'),
    '',
  ].join('\n');
}

function renderUser({ user, password }: ValkeyLogin, rules: string): string {
  return `user ${user} on #${createHash('sha256').update(password).digest('hex')} ${rules}`;
}
