import { existsSync, readFileSync } from 'node:fs';
import { natsNamesConfig } from '@millrace/platform/config';
import { createLogger } from '@millrace/platform/log';
import { connectValkey, ValkeyRefusedError, type ValkeyClient } from '@millrace/platform/valkey';
import { valkeyGrants } from '../valkey-grants.ts';
import type { Check, CheckContext } from './check.ts';
import { finding, type Finding } from './finding.ts';
import { processes, settingsOf, type Installation } from './installation.ts';
import type { ProcessRole } from '../init/layout.ts';
import { valkeyOf } from './servers.ts';
import { missingRulesOf, parseAclUsers, type AclUser } from './valkey-users.ts';
import { isOlder } from '@millrace/platform/release';

const OLDEST = '8';
const CONNECT_MS = 2_500;
const certificateCauses = ['certificate-*@valkey', 'ca-*'];
/** A server with TLS only does not answer without it. */
const connectionCauses = ['valkey-tls', ...certificateCauses];

/**
 * The server and the user of each role. The users of the roles have no right to read the settings of the server. So they are read as the user
 * of admin.env, and without one in the configuration file.
 */
export const valkeyCheck: Check = {
  id: 'valkey',
  title: 'Valkey',
  run: async (context) => {
    const [results, server] = await Promise.all([
      Promise.all(processes.map((role) => checkRole(context, role))),
      checkServer(context),
    ]);
    const users = server.users ?? usersInFile(context.installation);
    return [
      ...results.flat(),
      ...server.findings,
      ...processes.flatMap((role) => missingRules(context.installation, role, users)),
    ];
  },
};

async function checkRole({ installation }: CheckContext, role: ProcessRole): Promise<readonly Finding[]> {
  const access = valkeyOf(installation, role);
  if (access === null) return [];
  const setting = `${access.setting} of ${role}.env`;
  const unencrypted = access.url.startsWith('rediss:')
    ? []
    : [finding('valkey-tls', 'valkey', `${setting} does not begin with rediss://.`, { setting })];
  const client = await open(access);
  try {
    await client.ping();
    return [...unencrypted, ...(await checkVersion(client))];
  } catch (error) {
    return [...unencrypted, explain(error, role, setting, installation)];
  } finally {
    void client.close().catch(() => undefined);
  }
}

type Access = NonNullable<ReturnType<typeof valkeyOf>>;

function open({ url, ca }: Access): Promise<ValkeyClient> {
  const log = createLogger({ name: 'doctor', level: 'silent' });
  return connectValkey({
    url,
    ca,
    log,
    name: 'millrace-doctor',
    firstConnectionMs: CONNECT_MS,
    commandTimeoutMs: CONNECT_MS,
  });
}

/** Every user may send HELLO, whatever its rules. */
async function checkVersion(client: ValkeyClient): Promise<readonly Finding[]> {
  const reply = await client.command(['HELLO']);
  const version = String(toMap(reply).get('version') ?? '');
  return isOlder(version, OLDEST)
    ? [finding('valkey-version', 'valkey', `Valkey has version ${version}.`)]
    : [];
}

function explain(error: unknown, role: ProcessRole, setting: string, { path }: Installation): Finding {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof ValkeyRefusedError) {
    if (message.includes('user')) {
      const values = { path: path('valkey', 'users.acl') };
      return finding('valkey-credentials-refused', role, `Valkey refuses the user of ${setting}.`, values);
    }
    if (message.includes('certificate'))
      return finding('valkey-tls', 'valkey', message, { setting }, certificateCauses);
  }
  const values = { setting: 'MILLRACE_VALKEY_URL and MILLRACE_POT_VALKEY_URL' };
  return finding('valkey-unreachable', 'valkey', 'Valkey does not answer.', values, connectionCauses);
}

interface ServerResult {
  readonly findings: readonly Finding[];
  /** Null if this command cannot read them. */
  readonly users: readonly AclUser[] | null;
}

async function checkServer({ installation }: CheckContext): Promise<ServerResult> {
  const access = valkeyOf(installation, 'admin');
  const values = { path: installation.path('valkey', 'valkey.conf') };
  if (access === null)
    return { findings: settingsFindings(settingsInFile(values.path), values), users: null };
  const client = await open(access);
  try {
    const settings = new Map<string, string>();
    for (const name of ['save', 'appendonly', 'maxmemory-policy', 'maxmemory']) {
      for (const [key, value] of toMap(await client.command(['CONFIG', 'GET', name])))
        settings.set(key, value);
    }
    const memory = String(await client.command(['INFO', 'memory']));
    const users = parseAclUsers(linesOf(await client.command(['ACL', 'LIST'])));
    return { findings: [...settingsFindings(settings, values), ...memoryFindings(memory, values)], users };
  } catch (error) {
    return { findings: [explainAdmin(error, installation)], users: null };
  } finally {
    void client.close().catch(() => undefined);
  }
}

function explainAdmin(error: unknown, { path }: Installation): Finding {
  const message = error instanceof Error ? error.message : String(error);
  const values = { path: path('valkey', 'users.acl'), setting: 'MILLRACE_VALKEY_URL' };
  if (error instanceof ValkeyRefusedError && message.includes('user')) {
    const problem = 'Valkey refuses the user of MILLRACE_VALKEY_URL of admin.env.';
    return finding('valkey-credentials-refused', 'admin', problem, values);
  }
  return finding('valkey-unreachable', 'valkey', 'Valkey does not answer.', values, connectionCauses);
}

/** The settings in the configuration file, over the defaults of Valkey. */
function settingsInFile(path: string): ReadonlyMap<string, string> {
  if (!existsSync(path)) return new Map();
  const found = readFileSync(path, 'utf8')
    .split('\n')
    .map((line): [string, string] => {
      const [name = '', ...words] = line.trim().split(' ');
      return [name.toLowerCase(), words.join(' ').trim().replaceAll('"', '')];
    });
  return new Map([['save', '3600 1'], ...found]);
}

function settingsFindings(
  settings: ReadonlyMap<string, string>,
  values: Readonly<Record<string, string>>,
): readonly Finding[] {
  const save = settings.get('save') ?? '';
  const appendOnly = settings.get('appendonly') ?? 'no';
  const policy = settings.get('maxmemory-policy') ?? 'noeviction';
  return [
    ...(save === '' && appendOnly === 'no'
      ? []
      : [
          finding(
            'valkey-persistence',
            'valkey',
            `Valkey has save "${save}" and appendonly ${appendOnly}.`,
            values,
          ),
        ]),
    ...(policy === 'noeviction'
      ? []
      : [finding('valkey-eviction', 'valkey', `Valkey has maxmemory-policy ${policy}.`, values)]),
  ];
}

function memoryFindings(info: string, values: Readonly<Record<string, string>>): readonly Finding[] {
  const lines = info.split('\r\n').map((line) => line.split(':'));
  const field = (name: string): number => Number(lines.find(([own]) => own === name)?.[1] ?? 0);
  const used = field('used_memory');
  const limit = field('maxmemory') === 0 ? field('total_system_memory') : field('maxmemory');
  if (limit === 0 || used * 100 <= limit * 90) return [];
  return [finding('valkey-memory', 'valkey', `Valkey uses ${used} of ${limit} bytes of memory.`, values)];
}

function usersInFile({ path }: Installation): readonly AclUser[] {
  const file = path('valkey', 'users.acl');
  return existsSync(file) ? parseAclUsers(readFileSync(file, 'utf8').split('\n')) : [];
}

function missingRules(
  installation: Installation,
  role: ProcessRole,
  users: readonly AclUser[],
): readonly Finding[] {
  const access = valkeyOf(installation, role);
  const prefix = settingsOf([natsNamesConfig], installation, role)?.natsNames.prefix;
  if (access === null || prefix === undefined) return [];
  const name = decodeURIComponent(new URL(access.url).username);
  const user = users.find((each) => each.name === name);
  // Valkey refuses a missing user, which is another finding.
  if (user === undefined) return [];
  const missing = valkeyGrants(role, prefix).flatMap((grant) => missingRulesOf(user, grant));
  if (missing.length === 0) return [];
  const problem = `The user ${name} lacks: ${[...new Set(missing)].slice(0, 5).join(', ')}.`;
  return [finding('valkey-rules-missing', role, problem, { path: installation.path('valkey', 'users.acl') })];
}

/** Lists of names and values, or maps, depending on the protocol. */
function toMap(reply: unknown): ReadonlyMap<string, string> {
  if (reply instanceof Map) return new Map([...reply].map(([name, value]) => [String(name), String(value)]));
  if (!Array.isArray(reply)) {
    return new Map(Object.entries((reply ?? {}) as object).map(([name, value]) => [name, String(value)]));
  }
  const texts = reply.map(String);
  const pairs = texts.flatMap((name, index): [string, string][] =>
    index % 2 === 0 ? [[name, texts[index + 1] ?? '']] : [],
  );
  return new Map(pairs);
}

const linesOf = (reply: unknown): readonly string[] => (Array.isArray(reply) ? reply.map(String) : []);
