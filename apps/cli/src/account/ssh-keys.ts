import { basename, join } from 'node:path';
import type { Context } from '../framework/context.ts';
import { CliError, UsageError } from '../framework/errors.ts';
import { exitCodes } from '../framework/exit-codes.ts';
import type { Column } from '../framework/output.ts';
import type { Item } from '../sdk.ts';
import { dayText } from '../text/timestamps.ts';

export type SshKey = Item<'listSshPublicKeys'>;

export const sshKeyColumns: readonly Column<SshKey>[] = [
  { name: 'id', value: ({ id }) => id },
  { name: 'name', value: ({ name }) => name },
  { name: 'algorithm', value: ({ algorithm }) => algorithm },
  { name: 'fingerprint', value: ({ fingerprint }) => fingerprint },
  { name: 'created', value: ({ createdAt }) => dayText(createdAt) },
  { name: 'public-key', value: ({ publicKey }) => publicKey, extra: true },
];

/** Usual key files, the preferred first. */
const defaultKeyFiles = [
  'id_ed25519.pub',
  'id_ed25519_sk.pub',
  'id_ecdsa.pub',
  'id_ecdsa_sk.pub',
  'id_rsa.pub',
];

export interface PublicKeyFile {
  readonly path: string;
  readonly text: string;
  /** The comment of the key, otherwise the file name. */
  readonly name: string;
}

/** The public key from a file, from standard input (`-`), or the default key of ssh. */
export async function readPublicKey(context: Context, file: string | undefined): Promise<PublicKeyFile> {
  const path = file ?? (await findDefaultKeyFile(context));
  const text = (path === '-' ? await context.files.readStdin() : await readFile(context, path)).trim();
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----|^PuTTY-User-Key-File-/m.test(text)) {
    throw new UsageError(`${path} is a private key. It must not leave your machine.`, {
      fix: `Use the public key: millrace ssh-key add ${path === '-' ? 'FILE' : path}.pub`,
    });
  }
  if (text === '') throw new UsageError(`${path} is empty.`);
  const comment = /^\S+ \S+ (?<comment>.+)$/m.exec(text)?.groups?.['comment']?.trim();
  return { path, text, name: comment ?? (path === '-' ? 'key' : basename(path, '.pub')) };
}

async function findDefaultKeyFile(context: Context): Promise<string> {
  const directory = join(context.home, '.ssh');
  const there = await context.files.list(directory);
  const name = defaultKeyFiles.find((usual) => there.includes(usual));
  if (name !== undefined) return join(directory, name);
  throw new CliError('There is no SSH key to add.', {
    why: `${directory} has none of ${defaultKeyFiles.join(', ')}.`,
    fix: 'Create a key, then try again: ssh-keygen -t ed25519',
  });
}

async function readFile(context: Context, path: string): Promise<string> {
  try {
    return await context.files.readText(path);
  } catch {
    throw new UsageError(`${path} cannot be read.`);
  }
}

export async function findSshKey(context: Context, words: string): Promise<SshKey> {
  const keys = await context.client().sshKeys.list({ limit: 200 }, { signal: context.signal }).all();
  const found = keys.filter(({ id, name, fingerprint }) => [id, name, fingerprint].includes(words));
  const [only, ...others] = found;
  if (only === undefined) {
    throw new CliError(`There is no SSH key ${JSON.stringify(words)}.`, {
      why: 'None of your keys has this id, name or fingerprint.',
      fix: 'millrace ssh-key list',
      exitCode: exitCodes.notFound,
    });
  }
  if (others.length > 0) {
    throw new UsageError(`Several SSH keys have the name ${JSON.stringify(words)}.`, {
      fix: 'Use the id: millrace ssh-key list',
    });
  }
  return only;
}
