import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import {
  apiFragments,
  cellConfig,
  ConfigError,
  fragment,
  gatewayFragments,
  healthPorts,
  loadConfig,
  natsNamesConfig,
  postgresAdministratorConfig,
  postgresConfig,
  postgresOwnerConfig,
  workerFragments,
  type ConfigProblem,
  type Environment,
} from '@millrace/platform/config';
import { errorCode } from '../error-code.ts';
import { processRoleNames, type ProcessRole } from '../init/layout.ts';

/** The configuration folder of one machine: a file of settings for each role, which the units of systemd read too. */

export const roles = ['api', 'worker', 'gateway', 'admin'] as const;
export type Role = (typeof roles)[number];
export const processes: readonly ProcessRole[] = processRoleNames;

export const sharedFile = 'millrace.env';
export const envFileOf = (role: Role): string => `${role}.env`;
export const unitOf = (role: Role): string => (role === 'admin' ? 'millrace.target' : `millrace-${role}`);
export const userOf = (role: Role): string => (role === 'admin' ? 'root' : `millrace-${role}`);

export const healthPortConfig = fragment('healthPorts', healthPorts);

type AnyFragment = Parameters<typeof loadConfig>[0][number];

/** The settings of each role; those of a single process, such as its waits, are checked when it starts. */
const fragmentsOf: Readonly<Record<Role, readonly AnyFragment[]>> = {
  api: apiFragments,
  worker: [...workerFragments, healthPortConfig],
  gateway: [...gatewayFragments, healthPortConfig],
  admin: [cellConfig, natsNamesConfig, postgresConfig],
};

const namesOfSecrets = ({ variables }: AnyFragment): readonly string[] =>
  Object.values(variables).flatMap(({ env, secret }) => (secret === true ? [env] : []));

/** The settings that are secrets. Each may also be in a file, which `NAME_FILE` names. */
export const secretSettings: ReadonlySet<string> = new Set(
  [...Object.values(fragmentsOf).flat(), postgresOwnerConfig, postgresAdministratorConfig].flatMap(
    namesOfSecrets,
  ),
);

export interface EnvFile {
  readonly path: string;
  readonly variables: Environment;
  /** Why it could not be read, such as ENOENT. */
  readonly problem: string | null;
}

export interface Installation {
  readonly folder: string;
  readonly shared: EnvFile;
  readonly files: Readonly<Record<Role, EnvFile>>;
  /** The roles of this machine: those with a file of settings or a folder of secrets. */
  readonly rolesHere: readonly Role[];
  /** The environment of HAProxy; empty without the file. */
  readonly proxy: Environment;
  /** The environment of the internal proxy, which only three machines have. Otherwise empty. */
  readonly internal: Environment;
  /** The path of a file below the folder. */
  path(...names: string[]): string;
  /** All settings of a role. */
  environment(role: Role): Environment;
}

export function readInstallation(folder: string): Installation {
  const path = (...names: string[]): string => join(folder, ...names);
  const shared = readEnvFile(path(sharedFile));
  const read = (role: Role): EnvFile => readEnvFile(path(envFileOf(role)));
  const files = { api: read('api'), worker: read('worker'), gateway: read('gateway'), admin: read('admin') };
  const rolesHere = roles.filter((role) => files[role].problem !== 'ENOENT' || existsSync(path(role)));
  return {
    folder,
    shared,
    files,
    rolesHere,
    proxy: readEnvFile(path('proxy.env')).variables,
    internal: readEnvFile(path('internal.env')).variables,
    path,
    environment: (role) => ({ ...shared.variables, ...files[role].variables }),
  };
}

function readEnvFile(path: string): EnvFile {
  try {
    return { path, variables: parseEnv(readFileSync(path, 'utf8')), problem: null };
  } catch (error) {
    return { path, variables: {}, problem: errorCode(error) };
  }
}

/** Null if these settings are wrong or missing, which the check of the files reports. */
export function settingsOf<const Fragments extends Parameters<typeof loadConfig>[0]>(
  fragments: Fragments,
  { shared, files, environment }: Installation,
  role: Role,
): ReturnType<typeof loadConfig<Fragments>> | null {
  if (shared.problem !== null || files[role].problem !== null) return null;
  try {
    return loadConfig(fragments, environment(role));
  } catch (error) {
    if (error instanceof ConfigError) return null;
    throw error;
  }
}

/** The settings of the first of these roles that has them. */
export function firstSettingsOf<const Fragments extends Parameters<typeof loadConfig>[0]>(
  fragments: Fragments,
  installation: Installation,
  ofRoles: readonly Role[],
): ReturnType<typeof loadConfig<Fragments>> | null {
  for (const role of ofRoles) {
    const settings = settingsOf(fragments, installation, role);
    if (settings !== null) return settings;
  }
  return null;
}

export function problemsOf(role: Role, environment: Environment): readonly ConfigProblem[] {
  try {
    loadConfig(fragmentsOf[role], environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}
