import { readFile } from 'node:fs/promises';
import { CommandError } from '../../command.ts';
import { errorCode } from '../../error-code.ts';
import type { Access, InstallationFiles } from '../installation-files.ts';
import { groupOf, processRoleNames, type Machine } from '../layout.ts';

/** The file with which another machine joins: the machines, and every secret that all machines share. */
export interface JoinFile {
  readonly publicUrl: string;
  readonly organisation: string;
  readonly machines: readonly Machine[];
  /** Contents by path below the folder of the installation. */
  readonly files: Readonly<Record<string, string>>;
}

const adminFiles = [
  ...['postgres-owner.url', 'postgres.url', 'valkey.url'],
  ...['postgres-superuser', 'postgres-replicator', 'postgres-rewinder', 'patroni', 'nats-route'].map(
    (name) => `${name}.password`,
  ),
];
const roleFiles: Readonly<Record<(typeof processRoleNames)[number], readonly string[]>> = {
  api: ['postgres.url', 'sealing.keys', 'auth.secret'],
  worker: ['postgres.url', 'sealing.keys'],
  gateway: [],
};
const everyRoleHas = ['valkey.url', 'nats.seed', 'key-feed.keys', 'health.token'];

const rootOnly: Access = { group: null, mode: 0o600 };

/** The shared files, and who may read them. */
const sharedFiles: ReadonlyMap<string, Access> = new Map<string, Access>([
  ['ca.pem', { group: null, mode: 0o644 }],
  ['authority/ca.key', rootOnly],
  ...adminFiles.map((name) => [`admin/${name}`, rootOnly] as const),
  ...processRoleNames.flatMap((role) =>
    [...roleFiles[role], ...everyRoleHas].map(
      (name) => [`${role}/${name}`, { group: groupOf(role), mode: 0o640 }] as const,
    ),
  ),
  ['restate/identity.pem', { group: groupOf('restate'), mode: 0o640 }],
  ['proxy/public.pem', { group: groupOf('proxy'), mode: 0o640 }],
]);

export const joinFileName = 'admin/join.json';

export async function writeJoinFile(
  files: InstallationFiles,
  facts: Omit<JoinFile, 'files'>,
): Promise<string> {
  const contents: Record<string, string> = {};
  for (const file of sharedFiles.keys()) {
    const content = await files.read(file);
    if (content === null) {
      throw new CommandError(
        `${files.pathOf(file)} is missing, and the other machines need it. Put it back.`,
      );
    }
    contents[file] = content;
  }
  const joinFile: JoinFile = { ...facts, files: contents };
  await files.replace(joinFileName, rootOnly, `${JSON.stringify(joinFile, null, 2)}\n`);
  return files.pathOf(joinFileName);
}

export async function readJoinFile(path: string): Promise<JoinFile> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new CommandError(`The file ${path} cannot be read (${errorCode(error)}).`, { cause: error });
  });
  const parsed = parseJson(text);
  const missing = [...sharedFiles.keys()].filter((file) => typeof parsed?.files?.[file] !== 'string');
  if (parsed === null || missing.length > 0) {
    throw new CommandError(`${path} is not a complete file of millrace-admin init. Copy it again.`);
  }
  return parsed;
}

function parseJson(text: string): JoinFile | null {
  try {
    return JSON.parse(text) as JoinFile;
  } catch {
    return null;
  }
}

/** Writes the shared files. One that exists with another content belongs to another installation, and stays. */
export async function takeSharedFiles(
  files: InstallationFiles,
  { files: contents }: JoinFile,
): Promise<void> {
  for (const [file, access] of sharedFiles) {
    const content = contents[file] ?? '';
    if ((await files.ensure(file, access, () => content)) === content) continue;
    throw new CommandError(
      `${files.pathOf(file)} differs from the file of --join, so this machine belongs to another installation. ` +
        `If it does not, move ${files.pathOf('')} away.`,
    );
  }
}
