import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

import { Failure } from '../failure.ts';
import { withLock } from '../lock.ts';
import { runOrThrow, run } from '../processes.ts';
import { defaultCacheDir, writeAtomically } from '../site.ts';
import { ironicPaths, renderIronicConf, type IronicSettings } from './ironic-conf.ts';

/** An Ironic process that is configured, with a database and a password. */
export interface IronicCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly username: string;
  readonly password: string;
}

export const ironicUser = 'millrace';
/** Python of Debian, because the packages are installed for it and not for a later one in PATH. */
export const python = '/usr/bin/python3';
const modules = '/usr/lib/python3/dist-packages/ironic/cmd';
/** Entry point as in Debian's package `ironic-common`, which is not used because it also installs daemons. */
const mainOf = (module: string): string =>
  `import sys; from ironic.cmd.${module} import main; sys.exit(main())`;
const isolinux = '/usr/lib/ISOLINUX/isolinux.bin';
const ldlinux = '/usr/lib/syslinux/modules/bios/ldlinux.c32';
const mkisofs = '/usr/bin/mkisofs';

/** Ironic, and the packages with which it creates bootable CDs. */
export const ironicPackages = ['python3-ironic', 'genisoimage', 'isolinux', 'syslinux-common'] as const;

export function isIronicInstalled(): boolean {
  return [`${modules}/singleprocess.py`, isolinux, ldlinux, mkisofs].every((file) => fs.existsSync(file));
}

/** For programs that start their own Ironic. */
export async function ironicCommand(settings: IronicSettings): Promise<IronicCommand> {
  if (isIronicInstalled()) return prepareIronic(defaultCacheDir(), settings);
  throw new Failure('Ironic is not installed.', 'Run `npm run services -- up --install ironic`.');
}

/** Writes the configuration, and password and database unless they exist. */
export async function prepareIronic(cacheDir: string, settings: IronicSettings): Promise<IronicCommand> {
  const { home, filesFolder } = settings;
  const places = ironicPaths(home);
  for (const folder of [...places.folders, filesFolder]) fs.mkdirSync(folder, { recursive: true });
  if (!fs.existsSync(places.htpasswd)) await writePassword(places);
  writeAtomically(places.conf, renderIronicConf(settings), 0o600);
  if (!fs.existsSync(places.database)) await copySchema(cacheDir, places.database);
  return { ...ironicLaunch(home), username: ironicUser, password: readPassword(home) };
}

export function ironicLaunch(home: string): Pick<IronicCommand, 'file' | 'args' | 'env'> {
  return {
    file: python,
    args: ['-c', mainOf('singleprocess'), '--config-file', ironicPaths(home).conf],
    // Ironic connects to local machines only, so a proxy of the caller's shell must not apply.
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', no_proxy: '*', NO_PROXY: '*' },
  };
}

export function readPassword(home: string): string {
  return fs.readFileSync(ironicPaths(home).password, 'utf8').trim();
}

/** Ironic accepts only bcrypt and computes it for every request, so the password is long and the hash cheap. */
async function writePassword({ password, htpasswd }: ReturnType<typeof ironicPaths>): Promise<void> {
  writeAtomically(password, `${randomBytes(24).toString('hex')}\n`, 0o600);
  const hashing =
    'import bcrypt, sys; print(bcrypt.hashpw(open(sys.argv[1]).read().strip().encode(), bcrypt.gensalt(rounds=4)).decode())';
  const hash = (await runOrThrow(python, ['-c', hashing, password])).trim();
  writeAtomically(htpasswd, `${ironicUser}:${hash}\n`, 0o600);
}

/** Creating the tables takes seconds. They are created once per version and then copied. */
async function copySchema(cacheDir: string, database: string): Promise<void> {
  const folder = path.join(cacheDir, 'ironic');
  const schema = path.join(folder, `schema-${await installedVersion()}.sqlite`);
  if (!fs.existsSync(schema)) {
    await withLock(
      path.join(folder, 'schema.lock'),
      () => {},
      async () => {
        if (!fs.existsSync(schema)) await makeSchema(folder, schema);
      },
    );
  }
  const draft = `${database}.${process.pid}.new`;
  fs.copyFileSync(schema, draft, fs.constants.COPYFILE_FICLONE);
  fs.renameSync(draft, database);
}

async function makeSchema(folder: string, schema: string): Promise<void> {
  const scratch = fs.mkdtempSync(path.join(folder, 'new-'));
  try {
    const { conf, database } = ironicPaths(scratch);
    const filesFolder = path.join(scratch, 'files');
    writeAtomically(
      conf,
      renderIronicConf({ home: scratch, port: 0, filesFolder, filesUrl: 'http://127.0.0.1' }),
    );
    await runOrThrow(python, ['-c', mainOf('dbsync'), '--config-file', conf, 'create_schema'], {
      timeoutMs: 180_000,
      cwd: '/',
    });
    fs.renameSync(database, schema);
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true });
  }
}

async function installedVersion(): Promise<string> {
  const { stdout } = await run('dpkg-query', ['--show', '--showformat', '${Version}', 'python3-ironic']);
  return stdout.replaceAll(/[^\w.+-]/gu, '_') || 'unknown';
}
