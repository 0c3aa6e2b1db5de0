import type { Site } from '../site.ts';
import { siteSecret } from './site-secrets.ts';

/** Group roles of the migrations. A login per process is a member of one of them, as in an installation. */
const groupRoles = { api: 'millrace_api', worker: 'millrace_worker', admin: 'millrace_admin' } as const;

export interface PostgresLogin {
  readonly user: string;
  readonly password: string;
}

/** Gateways have no database. */
export type PostgresLogins = Readonly<Record<keyof typeof groupRoles, PostgresLogin>>;

/** Created once per state folder. */
export function postgresLogins(site: Site): PostgresLogins {
  const login = (role: keyof typeof groupRoles): PostgresLogin => ({
    user: `${groupRoles[role]}_1`,
    password: siteSecret(site, `postgres-${role}`),
  });
  return { api: login('api'), worker: login('worker'), admin: login('admin') };
}

/** Also creates the group roles, because no migration has run yet. Can be repeated. */
export function createLoginsSql(logins: PostgresLogins): string {
  const roles = Object.entries(groupRoles).flatMap(([role, group]) => {
    const { user, password } = logins[role as keyof typeof groupRoles];
    return [
      createRole(group, 'nologin'),
      createRole(user, 'login'),
      `alter role ${user} password '${password}';`,
      `grant ${group} to ${user};`,
    ];
  });
  return roles.join('\n');
}

function createRole(name: string, kind: 'login' | 'nologin'): string {
  const missing = `not exists (select from pg_roles where rolname = '${name}')`;
  return `do $$ begin if ${missing} then create role ${name} ${kind}; end if; end $$;`;
}
