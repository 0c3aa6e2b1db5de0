import { randomBytes } from 'node:crypto';
import { createNatsKey } from '@millrace/platform/nats';
import { CommandError } from '../command.ts';
import type { Access, InstallationFiles } from './installation-files.ts';
import { databaseName, groupOf, processRoleNames, type InstallationFacts } from './layout.ts';
import { postgresPlace } from './machines/engine-files.ts';

const rootOnly: Access = { group: null, mode: 0o600 };
const ofRole = (role: string): Access => ({ group: groupOf(role), mode: 0o640 });
const line = (text: string): string => `${text}\n`;
const password = (): string => randomBytes(24).toString('base64url');

/** Roles with a login, and the files with its URL. */
const loginFiles = {
  millrace_owner: ['admin/postgres-owner.url', rootOnly],
  millrace_api_1: ['api/postgres.url', ofRole('api')],
  millrace_worker_1: ['worker/postgres.url', ofRole('worker')],
  millrace_admin_1: ['admin/postgres.url', rootOnly],
} as const;

export interface Secrets {
  /** PostgreSQL URLs by login. */
  readonly postgresUrls: Readonly<Record<keyof typeof loginFiles, string>>;
  /** Valkey URLs by role, and that of the user `all`. */
  readonly valkeyUrls: Readonly<Record<string, string>>;
  /** Seeds of the NATS keys by role. */
  readonly natsSeeds: Readonly<Record<string, string>>;
  /** The id of the key for new secrets. */
  readonly activeSealingKey: string;
}

/** Creates the secrets that do not exist, and returns those that other files depend on. */
export async function ensureSecrets(
  files: InstallationFiles,
  installation: InstallationFacts,
  now: Date,
): Promise<Secrets> {
  const month = now.toISOString().slice(0, 7);
  const newKey = (): string => `${month}:${randomBytes(32).toString('base64')}`;
  const sealingKeys = await ensureShared(files, 'sealing.keys', ['api', 'worker'], newKey);
  await ensureShared(files, 'key-feed.keys', processRoleNames, newKey);
  await ensureShared(files, 'health.token', processRoleNames, () => randomBytes(24).toString('base64url'));
  await ensureShared(files, 'auth.secret', ['api'], () => randomBytes(32).toString('base64url'));
  const [activeSealingKey = ''] = sealingKeys.split(':');
  return {
    postgresUrls: await ensurePostgresUrls(files, postgresPlace(installation)(databaseName)),
    ...(await ensureRoleSecrets(files, installation.ports.valkey)),
    activeSealingKey,
  };
}

async function ensurePostgresUrls(files: InstallationFiles, place: string): Promise<Secrets['postgresUrls']> {
  const urls: Record<string, string> = {};
  for (const [login, [file, access]] of Object.entries(loginFiles)) {
    const create = (): string => line(`postgres://${login}:${password()}@${place}`);
    urls[login] = (await files.ensure(file, access, create)).trim();
  }
  return urls as Secrets['postgresUrls'];
}

async function ensureRoleSecrets(
  files: InstallationFiles,
  valkeyPort: number,
): Promise<Pick<Secrets, 'valkeyUrls' | 'natsSeeds'>> {
  const valkeyUrls: Record<string, string> = {};
  const natsSeeds: Record<string, string> = {};
  const urlOf = (user: string): string => line(`rediss://${user}:${password()}@127.0.0.1:${valkeyPort}`);
  valkeyUrls['all'] = (await files.ensure('admin/valkey.url', rootOnly, () => urlOf('all'))).trim();
  for (const role of processRoleNames) {
    const access = ofRole(role);
    const createUrl = (): string => urlOf(groupOf(role));
    valkeyUrls[role] = (await files.ensure(`${role}/valkey.url`, access, createUrl)).trim();
    const createSeed = (): string => line(createNatsKey().seed);
    natsSeeds[role] = (await files.ensure(`${role}/nats.seed`, access, createSeed)).trim();
  }
  return { valkeyUrls, natsSeeds };
}

/** A secret of several roles. If one copy is missing, it gets the content of the others. */
async function ensureShared(
  files: InstallationFiles,
  name: string,
  roles: readonly string[],
  create: () => string,
): Promise<string> {
  const copies: string[] = [];
  for (const role of roles) {
    const copy = await files.read(`${role}/${name}`);
    if (copy !== null) copies.push(copy.trim());
  }
  if (new Set(copies).size > 1) {
    const names = roles.map((role) => files.pathOf(`${role}/${name}`)).join(' and ');
    throw new CommandError(
      `${names} must have the same content and differ. Copy the right one over the others.`,
    );
  }
  const secret = copies[0] ?? create();
  for (const role of roles) await files.ensure(`${role}/${name}`, ofRole(role), () => line(secret));
  return secret;
}
