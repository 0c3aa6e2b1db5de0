import { existsSync, readdirSync, statSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import {
  authConfig,
  keyFeedConfig,
  secretsConfig,
  type ConfigProblem,
  type Environment,
} from '@millrace/platform/config';
import { errorCode } from '../error-code.ts';
import type { Check, CheckContext, UserIdentity } from './check.ts';
import { finding, type Finding } from './finding.ts';
import {
  problemsOf,
  processes,
  roles,
  secretSettings,
  settingsOf,
  unitOf,
  userOf,
  type EnvFile,
  type Installation,
  type Role,
} from './installation.ts';
import { secretFiles, secretsIn } from './secrets.ts';

/** The settings and the files that they name. */
export const filesCheck: Check = {
  id: 'files',
  title: 'Settings and files',
  run: async (context) => {
    const { installation } = context;
    const unread = expectedEnvFiles(installation).flatMap(problemOfEnvFile);
    const named = (await Promise.all(roles.map((role) => checkNamedFiles(context, role)))).flat();
    return [
      ...unread,
      ...named,
      ...exposedFiles(installation),
      ...(await exposedSettings(context)),
      ...roles.flatMap((role) => invalidSettings(installation, role)),
      ...differentKeys(installation),
      ...missingAuthSecret(installation),
    ];
  },
};

/** A machine may have only some roles, or only engines. Without anything in the folder, one finding is enough. */
function expectedEnvFiles({ folder, shared, files, rolesHere }: Installation): readonly EnvFile[] {
  if (rolesHere.length > 0) return [shared, ...rolesHere.map((role) => files[role])];
  return existsSync(folder) && readdirSync(folder).length > 0 ? [] : [shared];
}

function problemOfEnvFile({ path, problem }: EnvFile): readonly Finding[] {
  if (problem === null) return [];
  const values = { file: path, folder: dirname(path) };
  if (problem === 'ENOENT') return [finding('env-file-missing', path, `${path} does not exist.`, values)];
  return [finding('env-file-unreadable', path, `${path} cannot be read (${problem}).`, values)];
}

/** The absolute paths in the settings of a role, by setting. */
function namedPaths(environment: Environment): ReadonlyMap<string, string> {
  const entries = Object.entries(environment).flatMap(([name, value]): [string, string][] =>
    /^MILLRACE_\w+_FILE$/.test(name) && value?.startsWith('/') ? [[name, value]] : [],
  );
  return new Map(entries);
}

/** The folders of all files that settings name. */
export function foldersInSettings({ environment }: Installation): readonly string[] {
  const paths = roles.flatMap((role) => [...namedPaths(environment(role)).values()]);
  return [...new Set(paths.map((path) => dirname(path)))];
}

async function checkNamedFiles(
  { installation, effects }: CheckContext,
  role: Role,
): Promise<readonly Finding[]> {
  const user = role === 'admin' ? null : await effects.identityOf(userOf(role));
  return [...namedPaths(installation.environment(role))].flatMap(([setting, path]): readonly Finding[] => {
    const stats = statOf(path);
    const values = { path, setting, file: fileWith(installation, role, setting), user: userOf(role) };
    if (typeof stats === 'string')
      return [finding('file-missing', path, `${path} cannot be found (${stats}).`, values)];
    if (stats.size === 0) return [finding('file-empty', path, `${path} is empty.`, values)];
    const why = user === null ? null : whyUnreadable(path, user);
    if (why === null) return [];
    return [finding('file-unreadable-by-user', path, `${userOf(role)} cannot read ${path}: ${why}.`, values)];
  });
}

function statOf(path: string): Stats | string {
  try {
    return statSync(path);
  } catch (error) {
    return errorCode(error);
  }
}

/** The file that has the setting, for the remedy. */
function fileWith({ shared, files }: Installation, role: Role, setting: string): string {
  return setting in files[role].variables || !(setting in shared.variables) ? files[role].path : shared.path;
}

/** Compares the modes of the file and its folders; the rights of root do not count. */
function whyUnreadable(path: string, user: UserIdentity): string | null {
  const stats = statOf(path);
  if (typeof stats === 'string') return null;
  if (!allows(stats, user, 4)) return `its mode is ${modeOf(stats)}`;
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const around = statOf(folder);
    if (typeof around !== 'string' && !allows(around, user, 1))
      return `the mode of ${folder} is ${modeOf(around)}`;
  }
  return null;
}

function allows({ mode, uid, gid }: Stats, user: UserIdentity, bit: number): boolean {
  if (uid === user.uid) return (mode & (bit << 6)) !== 0;
  if (user.gids.includes(gid)) return (mode & (bit << 3)) !== 0;
  return (mode & bit) !== 0;
}

const modeOf = ({ mode }: Stats): string => (mode & 0o777).toString(8).padStart(4, '0');

/** Files whose names are those of secrets, in the folder and in its folders. */
function exposedFiles({ folder }: Installation): readonly Finding[] {
  return secretFiles(folder).flatMap((path) => {
    const stats = statOf(path);
    if (typeof stats === 'string' || (stats.mode & 0o007) === 0) return [];
    const problem = `${path} has the mode ${modeOf(stats)}, which includes all users.`;
    return [finding('file-exposed', path, problem, { path })];
  });
}

/** Secrets in files of settings, which only the user of the process and root should be able to read. */
async function exposedSettings({ installation, effects }: CheckContext): Promise<readonly Finding[]> {
  const { shared, files } = installation;
  const findings = [shared, ...roles.map((role) => files[role])].map(async ({ path, variables }) => {
    const settings = Object.entries(variables).flatMap(([name, value = '']) =>
      secretSettings.has(name) && secretsIn(value.trim()).length > 0 ? [name] : [],
    );
    const stats = statOf(path);
    if (settings.length === 0 || typeof stats === 'string') return [];
    const role = roles.find((each) => files[each].path === path && each !== 'admin');
    const user = role === undefined ? null : await effects.identityOf(userOf(role));
    if (!canOthersRead(stats, user?.gids ?? [])) return [];
    const problem = `${path} contains ${settings.join(' and ')}, and its mode is ${modeOf(stats)}.`;
    return [finding('secret-in-settings', path, problem, { file: path, setting: settings[0] ?? '' })];
  });
  return (await Promise.all(findings)).flat();
}

/** Others than root and the user with these groups. */
export function canOthersRead(
  { mode, gid }: Pick<Stats, 'mode' | 'gid'>,
  groupsOfUser: readonly number[],
): boolean {
  const isOwnGroup = gid === 0 || groupsOfUser.includes(gid);
  return (mode & (isOwnGroup ? 0o004 : 0o044)) !== 0;
}

function invalidSettings(installation: Installation, role: Role): readonly Finding[] {
  const { files, shared } = installation;
  if (files[role].problem !== null || shared.problem !== null) return [];
  const environment = installation.environment(role);
  const paths = namedPaths(environment);
  const isReported = ({ env }: ConfigProblem): boolean => {
    // The authority has findings of its own. A secret that is missing in a file is reported by its path.
    if (env === 'MILLRACE_ENGINE_CA_FILE') return true;
    const path = paths.get(env);
    const stats = path === undefined ? undefined : statOf(path);
    return stats !== undefined && (typeof stats === 'string' || stats.size === 0);
  };
  return problemsOf(role, environment)
    .filter((problem) => !isReported(problem))
    .map(({ env, problem }) => {
      const file = fileWith(installation, role, env);
      const values = { setting: env, file, unit: file === shared.path ? 'millrace.target' : unitOf(role) };
      const id =
        env === 'MILLRACE_SEALING_KEY_ACTIVE' && problem.startsWith('names')
          ? 'sealing-key-active-unknown'
          : 'setting-invalid';
      return finding(id, file, `${env} ${problem}.`, values);
    });
}

interface NamedKey {
  readonly id: string;
  readonly key: Buffer;
}

const textOfKeys = (keys: readonly NamedKey[]): string =>
  keys
    .map(({ id, key }) => `${id}:${key.toString('base64')}`)
    .toSorted()
    .join(',');

function differentKeys(installation: Installation): readonly Finding[] {
  const sealing = (['api', 'worker'] as const).flatMap((role) => {
    const keys = settingsOf([secretsConfig], installation, role)?.secrets.sealingKeys;
    return keys === undefined ? [] : [textOfKeys(keys)];
  });
  const feed = processes.flatMap((role) => {
    const keys = settingsOf([keyFeedConfig], installation, role)?.keyFeed.sealingKeys;
    return keys === undefined ? [] : [{ role, text: textOfKeys(keys) }];
  });
  const others = feed.filter(({ text }) => text !== feed[0]?.text).map(({ role }) => role);
  return [
    ...(new Set(sealing).size > 1
      ? [finding('sealing-keys-differ', 'worker', 'The sealing keys of api and worker differ.')]
      : []),
    ...(others.length === 0
      ? []
      : [
          finding(
            'key-feed-keys-differ',
            others.join(', '),
            `The keys of the key feed of ${others.join(' and ')} differ from those of ${feed[0]?.role}.`,
          ),
        ]),
  ];
}

function missingAuthSecret(installation: Installation): readonly Finding[] {
  const { files } = installation;
  if (files.api.problem !== null) return [];
  const auth = settingsOf([authConfig], installation, 'api')?.auth;
  if (auth === undefined || auth.secret !== null) return [];
  const problem = 'MILLRACE_AUTH_SECRET_FILE is not set, so users cannot sign in.';
  return [finding('auth-secret-missing', files.api.path, problem, { file: files.api.path })];
}
