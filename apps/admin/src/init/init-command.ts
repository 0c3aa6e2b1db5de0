import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { hasOperator } from '@millrace/core/identity';
import { systemClock, type Clock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { hostOf } from '@millrace/platform/net';
import { productFolder } from '@millrace/platform/release';
import { errorCode } from '../error-code.ts';
import {
  CommandError,
  emailOf,
  optionalText,
  problemWithEmail,
  requiredText,
  UsageError,
  type Command,
  type CommandContext,
  type FlagValues,
} from '../command.ts';
import { openDatabase } from '../open-database.ts';
import { authorityCertificate, checkPublicCertificate, type PublicCertificate } from './certificates.ts';
import { createFirstOperator } from './first-operator.ts';
import { InstallationFiles } from './installation-files.ts';
import { databaseName, defaultPorts, type InstallationFacts, type Ports } from './layout.ts';
import { lockFolder } from './lock-folder.ts';
import { chooseMachines, defaultFlags, findPostgresPrograms } from './choose-machines.ts';
import { postgresPlace } from './machines/engine-files.ts';
import { writeJoinFile } from './machines/join-file.ts';
import { problemWithMachines } from './machines/machines.ts';
import {
  migrateAsOwner,
  ownerOfEarlierDatabase,
  preparePostgres,
  waitForPrimary,
  type PrepareOptions,
} from './prepare-postgres.ts';
import { printResult, type InitResult } from './result.ts';
import { systemGroupId, type GroupId } from './system-groups.ts';
import { writeFiles, type WrittenInstallation } from './write-files.ts';

export interface InitDeps {
  readonly ports: Ports;
  readonly stateFolder: string;
  readonly groupId: GroupId;
  readonly clock: Clock;
}

const onThisMachine: InitDeps = {
  ports: defaultPorts,
  stateFolder: '/var/lib/millrace',
  groupId: systemGroupId(process.getuid?.()),
  clock: systemClock,
};

const initFlags: Command['flags'] = {
  'public-url': {
    describe: 'address of the console and the API',
    value: 'URL',
    required: true,
    check: problemWithPublicUrl,
    question: {
      about: 'The public address is what users type into the browser. It must lead to this machine.',
      example: 'https://cloud.example.com',
    },
  },
  organisation: {
    describe: 'name of your organisation',
    value: 'NAME',
    required: true,
    check: problemWithName,
    question: {
      about: 'Your organisation operates the installation. Users see its name in the console.',
      example: 'Example Cloud',
    },
  },
  name: {
    describe: 'your name',
    value: 'NAME',
    required: true,
    check: problemWithName,
    question: { about: 'You become the first operator.', example: 'Ada Lovelace' },
  },
  email: {
    describe: 'your email address',
    value: 'ADDRESS',
    required: true,
    check: problemWithEmail,
    question: { about: 'You sign in with your email address.', example: 'ada@example.com' },
  },
  certificate: {
    describe: 'PEM file of the public certificate with its chain (default: a private authority issues one)',
    value: 'FILE',
  },
  key: { describe: 'PEM file of its private key', value: 'FILE' },
  machines: {
    describe: 'names and addresses of three machines, of which this is the first',
    value: 'LIST',
    check: problemWithMachines,
  },
  machine: { describe: 'the name of this machine, with --machines or --join', value: 'NAME' },
  join: { describe: 'file that the first of three machines wrote', value: 'FILE' },
  folder: {
    describe: 'folder of the configuration (default: /etc/millrace)',
    value: 'FOLDER',
    check: (folder) => (isAbsolute(folder) ? null : 'is not an absolute path'),
  },
  'new-sealing-key': {
    describe:
      'continue with an earlier database whose sealing keys are lost; what they protect cannot be read again',
  },
  json: { describe: 'print one JSON object' },
};

export function createInitCommand(deps: InitDeps = onThisMachine): Command {
  return {
    name: 'init',
    summary: 'prepare an installation on this machine: configuration, secrets, database, first operator',
    flags: initFlags,
    defaults: (flags) => defaultFlags(flags, folderOf(flags)),
    example:
      'millrace-admin init --public-url https://cloud.example.com --email ada@example.com --name "Ada" --organisation "Example"',
    run: async (context, flags) => {
      const folder = folderOf(flags);
      await using _lock = await lockFolder(folder);
      const result = await prepare(deps, context, flags, folder);
      printResult(context, result, flags['json'] === true);
    },
  };
}

const folderOf = (flags: FlagValues): string => optionalText(flags, 'folder') ?? '/etc/millrace';

async function prepare(
  deps: InitDeps,
  context: CommandContext,
  flags: FlagValues,
  folder: string,
): Promise<InitResult> {
  const { clock, groupId, ports, stateFolder } = deps;
  const organisation = requiredText(flags, 'organisation');
  const files = new InstallationFiles(folder, groupId);
  const { machines, areFilesOnly } = await chooseMachines(files, flags);
  const installation: InstallationFacts = {
    ...{ folder, ports, stateFolder, name: organisation, cell: context.cell, machines },
    postgresPrograms: machines === null ? '' : findPostgresPrograms(stateFolder),
    publicUrl: requiredText(flags, 'public-url'),
    hasIpv6: existsSync('/proc/net/if_inet6'),
    natsPrefix: context.natsPrefix(),
  };
  const publicCertificate = await readPublicCertificate(flags, installation.publicUrl, clock);
  const now = clock.now();
  if (machines === null) {
    const server = {
      ...{ port: ports.postgres, caFile: null },
      administratorUrl: context.postgresAdministratorUrl(),
    };
    await checkEarlierDatabase(files, server, { withNewKey: flags['new-sealing-key'] === true });
  }
  const patroniSettings = readFileSync(join(productFolder, 'deploy/patroni/cluster.yml'), 'utf8');
  const written = await writeFiles(files, installation, {
    ...{ groupId, publicCertificate, now, patroniSettings },
  });
  const { hasPrivateCertificate } = written;
  const { publicUrl } = installation;
  // On each machine, so that any of them can be replaced with the file of another one.
  const joinFile =
    machines === null
      ? null
      : await writeJoinFile(files, { publicUrl, organisation, machines: machines.all });
  if (areFilesOnly) {
    const database = { migrations: 0, operator: null, hasOperator: true };
    return { installation, ...files.report(), hasPrivateCertificate, joinFile, areFilesOnly, ...database };
  }
  await prepareServer(deps, context, { files, installation, written });
  const { postgresUrls } = written.secrets;
  const ca = (await files.read(authorityCertificate)) ?? '';
  const migrations = await migrateAsOwner({ url: postgresUrls.millrace_owner, ca }, clock);
  const db = await openDatabase({ url: postgresUrls.millrace_admin_1, ca }, context.cell);
  try {
    const operator = await ensureOperator(db, flags, { organisation, cell: context.cell });
    return {
      ...{ installation, ...files.report(), hasPrivateCertificate, joinFile, areFilesOnly },
      ...{ migrations, ...operator },
    };
  } finally {
    await db.close();
  }
}

/** Creates roles, logins and the database: on the server of this machine, or on the primary of three. */
async function prepareServer(
  { clock, ports }: InitDeps,
  context: CommandContext,
  { files, installation, written }: ServerPreparation,
): Promise<void> {
  const { secrets, machineSecrets } = written;
  const port = ports.postgres;
  if (machineSecrets === null) {
    const tls = {
      certificateFile: files.pathOf('postgres/server.pem'),
      keyFile: files.pathOf('postgres/server.key'),
    };
    const administratorUrl = context.postgresAdministratorUrl();
    await preparePostgres(secrets.postgresUrls, { tls, port, administratorUrl, caFile: null });
    return;
  }
  const caFile = files.pathOf(authorityCertificate);
  const place = postgresPlace(installation)('postgres');
  const administratorUrl = `postgres://postgres:${machineSecrets.superuserPassword}@${place}`;
  await waitForPrimary({ url: administratorUrl, caFile }, clock);
  await preparePostgres(secrets.postgresUrls, { tls: null, port, administratorUrl, caFile });
}

interface ServerPreparation {
  readonly files: InstallationFiles;
  readonly installation: InstallationFacts;
  readonly written: WrittenInstallation;
}

/** Later runs need no name and email address. A run before a restore has none either, and then no operator. */
async function ensureOperator(
  db: Db,
  flags: FlagValues,
  { organisation, cell }: { readonly organisation: string; readonly cell: number },
): Promise<Pick<InitResult, 'operator' | 'hasOperator'>> {
  if (flags['name'] === undefined || flags['email'] === undefined) {
    return { operator: null, hasOperator: await hasOperator(db) };
  }
  const request = { email: emailOf(flags), name: requiredText(flags, 'name'), organisation, cell };
  return { operator: await createFirstOperator(db, request), hasOperator: true };
}

/** Refuses a database that this command cannot migrate, or whose secrets could not be read. Writes nothing before. */
async function checkEarlierDatabase(
  files: InstallationFiles,
  server: Omit<PrepareOptions, 'tls'>,
  { withNewKey }: { readonly withNewKey: boolean },
): Promise<void> {
  const exist = async (...names: readonly string[]): Promise<boolean> =>
    (await Promise.all(names.map((name) => files.read(name)))).some((content) => content !== null);
  // With a new key, the loss would be noticed only when a stored secret is read.
  const areKeysMissing = !withNewKey && !(await exist('api/sealing.keys', 'worker/sealing.keys'));
  // Later runs use the login in this file, which an operator may have replaced.
  const isFirst = !(await exist('admin/postgres-owner.url'));
  if (!areKeysMissing && !isFirst) return;
  const owner = await ownerOfEarlierDatabase(server);
  if (owner === null) return;
  if (isFirst && owner !== 'millrace_owner') {
    throw new CommandError(
      `The database ${databaseName} belongs to the login ${owner}, so this command cannot migrate it.\n` +
        'If it is of version 0.1.0, follow docs/guides/upgrade-from-0.1.0.md. Otherwise rename the database.',
    );
  }
  if (!areKeysMissing) return;
  throw new CommandError(
    `The database of an earlier installation exists, but ${files.pathOf('api/sealing.keys')} does not. ` +
      'Without its keys, stored secrets cannot be read.\n' +
      'Restore the folder from your copy. If there is none, add --new-sealing-key.',
  );
}

async function readPublicCertificate(
  flags: FlagValues,
  publicUrl: string,
  clock: Clock,
): Promise<PublicCertificate | null> {
  const [certificateFile, keyFile] = [optionalText(flags, 'certificate'), optionalText(flags, 'key')];
  if (certificateFile === undefined && keyFile === undefined) return null;
  if (certificateFile === undefined || keyFile === undefined) {
    throw new UsageError('--certificate and --key belong together: pass both or none.');
  }
  const given = { certificate: await readText(certificateFile), key: await readText(keyFile) };
  checkPublicCertificate(given, hostOf(new URL(publicUrl)), clock.now());
  return given;
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new CommandError(`The file ${file} cannot be read (${errorCode(error)}).`, { cause: error });
  }
}

function problemWithPublicUrl(text: string): string | null {
  if (URL.canParse(text)) {
    const { protocol, origin } = new URL(text);
    if (protocol === 'https:' && origin === text) return null;
  }
  return `is ${JSON.stringify(text)}, which is not an address as https://cloud.example.com: https, lower case, no path and no slash at the end`;
}

/** Names are also in a settings file, so characters that would need an escape there are refused. */
function problemWithName(text: string): string | null {
  if (/[\u0000-\u001f\u007f"\\`$]/.test(text)) return 'contains one of " \\ ` $ or a control character';
  return text.length > 100 ? 'has more than 100 characters' : null;
}
