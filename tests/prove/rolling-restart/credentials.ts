import { randomBytes } from 'node:crypto';
import { replaceCertificate, type Role, type SecureEndpoints } from '@millrace/services';
import { engineEnv } from '@millrace/testing';
import type { InferenceStack } from '../../stack/inference-stack.ts';

/** Replaces the credentials of processes and engines of a secure stack, in the steps of the guide "Connections". */

export interface NewCredentials {
  /** The settings with which a process of this role uses its new credentials from its next start. */
  settingsOf(role: Role): Readonly<Record<string, string>>;
  /** Ends the earlier logins. Returns a sentence for each that is still in use. */
  disableEarlierLogins(): Promise<readonly string[]>;
}

const enginesWithCertificates = ['postgres', 'nats', 'valkey', 'restate-proxy'];

/** Connections that are open keep their certificate, and each restarted process gets the new ones. */
export async function replaceEngineCertificates(stack: InferenceStack): Promise<void> {
  for (const name of enginesWithCertificates) await replaceCertificate(name, { stateDir: stack.stateDir() });
}

/** Another login of each role of the database and another key for NATS, both valid beside the earlier ones. */
export async function addCredentials(stack: InferenceStack): Promise<NewCredentials> {
  const { database, endpoints, natsPrefix } = stack;
  const { secure } = endpoints;
  if (secure === undefined) throw new Error('The engines of this stack have no credentials.');
  const login = async (role: 'api' | 'worker' | 'admin') => {
    const made = { user: `millrace_${role}_2`, password: randomBytes(24).toString('hex') };
    await database.query(
      `create role ${made.user} login password '${made.password}' in role millrace_${role}`,
    );
    return made;
  };
  const postgres = { api: await login('api'), worker: await login('worker'), admin: await login('admin') };
  const renewed: SecureEndpoints = { ...secure, postgres };
  const names = { natsPrefix };
  const settings = (role: Role) =>
    engineEnv({ database, names, endpoints: { ...endpoints, secure: renewed } }, role);
  return {
    settingsOf: (role) => {
      const { MILLRACE_POSTGRES_URL, MILLRACE_NATS_CREDENTIALS } = settings(role);
      return { MILLRACE_POSTGRES_URL, MILLRACE_NATS_CREDENTIALS } as Record<string, string>;
    },
    disableEarlierLogins: async () => {
      const earlier = [secure.postgres.api.user, secure.postgres.worker.user];
      const { rows } = await database.query<{ usename: string; sessions: string }>(
        'select usename, count(*) as sessions from pg_stat_activity where usename = any($1) group by usename',
        [earlier],
      );
      for (const user of earlier) await database.query(`alter role ${user} nologin`);
      return rows.map(({ usename, sessions }) => `${usename} still has ${sessions} sessions`);
    },
  };
}
