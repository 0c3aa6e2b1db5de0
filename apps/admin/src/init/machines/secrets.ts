import { randomBytes } from 'node:crypto';
import type { Access, InstallationFiles } from '../installation-files.ts';

/** Passwords that only an installation on three machines has. All machines have the same. */
export interface MachineSecrets {
  readonly superuserPassword: string;
  readonly replicationPassword: string;
  readonly rewindPassword: string;
  /** For the calls of Patroni that change something. */
  readonly patroniPassword: string;
  readonly natsRoutePassword: string;
}

const rootOnly: Access = { group: null, mode: 0o600 };

const files: Readonly<Record<keyof MachineSecrets, string>> = {
  superuserPassword: 'admin/postgres-superuser.password',
  replicationPassword: 'admin/postgres-replicator.password',
  rewindPassword: 'admin/postgres-rewinder.password',
  patroniPassword: 'admin/patroni.password',
  natsRoutePassword: 'admin/nats-route.password',
};

export async function ensureMachineSecrets(of: InstallationFiles): Promise<MachineSecrets> {
  const secrets: Record<string, string> = {};
  for (const [name, file] of Object.entries(files)) {
    const create = (): string => `${randomBytes(24).toString('base64url')}\n`;
    secrets[name] = (await of.ensure(file, rootOnly, create)).trim();
  }
  return secrets as unknown as MachineSecrets;
}
