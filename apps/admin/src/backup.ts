import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { syncPath } from '@millrace/platform/files';
import { systemClock, type Clock } from '@millrace/platform/clock';
import { CommandError, type Command, type CommandContext } from './command.ts';
import { errorCode } from './error-code.ts';
import { postgresEnvironment } from './postgres-environment.ts';
import { ProgramError, runProgram } from './run-program.ts';

const RETAINED_DAYS = 14;
/** So that several backups of one day are kept, such as those before and after an upgrade. */
const RETAINED_NEWEST = 3;
/** An older unfinished file cannot be that of another backup in progress. */
const ABANDONED_MS = 86_400_000;
const backupName = /^millrace-\d{4}-\d{2}-\d{2}T\d{6}Z\.dump$/;
const unfinishedName = /^millrace-.+\.dump\.partial$/;

export function createBackupCommand(clock: Clock = systemClock): Command {
  return {
    name: 'backup',
    summary: 'write a backup of the database to MILLRACE_BACKUP_FOLDER, and delete old ones',
    flags: { json: { describe: 'print one JSON object' } },
    example: 'millrace-admin backup',
    run: async (context, flags) => {
      const made = await backUp(context, clock);
      const { file, bytes, deleted } = made;
      if (flags['json'] === true) context.out(`${JSON.stringify(made)}\n`);
      else context.out(`${file} (${bytes} bytes)\n${deleted.map((name) => `deleted ${name}\n`).join('')}`);
    },
  };
}

interface Backup {
  readonly file: string;
  readonly bytes: number;
  /** The names of earlier backups that were deleted. */
  readonly deleted: readonly string[];
}

async function backUp(context: CommandContext, clock: Clock): Promise<Backup> {
  const { folder, caFile } = context.backup();
  const env = postgresEnvironment(context.postgresOwner().url, { caFile, name: 'millrace-backup' });
  await createPrivateFolder(folder);
  const second = clock.now().toISOString().slice(0, 19).replaceAll(':', '');
  const file = join(folder, `millrace-${second}Z.dump`);
  // The file gets its name only when it is complete and on the disk.
  await dump(`${file}.partial`, env);
  await rename(`${file}.partial`, file);
  await syncPath(folder);
  const { size } = await stat(file);
  return { file, bytes: size, deleted: await deleteOld(folder, clock) };
}

/** An existing folder may be shared with other programs, so its mode stays. */
async function createPrivateFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { mode } = await stat(folder);
  if ((mode & 0o077) === 0) return;
  throw new CommandError(
    `Other users can open the folder ${folder} (mode ${(mode & 0o7777).toString(8)}). ` +
      'Set MILLRACE_BACKUP_FOLDER to a folder inside it that does not exist yet, or if it has only backups: ' +
      `chmod 700 ${folder}`,
  );
}

async function dump(file: string, env: Readonly<Record<string, string>>): Promise<void> {
  const handle = await open(file, 'wx', 0o600).catch((error: unknown) => {
    throw new CommandError(`The file ${file} cannot be created (${errorCode(error)}).`, { cause: error });
  });
  try {
    await runProgram('pg_dump', ['--format=custom'], { env, outputFile: handle.fd });
    await handle.sync();
  } catch (error) {
    await rm(file, { force: true });
    if (!(error instanceof ProgramError)) throw error;
    throw new CommandError(`No backup was written. ${error.message}`, { cause: error });
  } finally {
    await handle.close();
  }
}

/** Backups to delete: all except the newest three and the newest of each of the last 14 days (UTC) that have one. */
export function expiredBackups(names: readonly string[]): string[] {
  const backups = names.filter((name) => backupName.test(name)).toSorted();
  const newestOfDays = [...new Map(backups.map((name) => [dayOf(name), name])).values()];
  const retained = new Set([...newestOfDays.slice(-RETAINED_DAYS), ...backups.slice(-RETAINED_NEWEST)]);
  return backups.filter((name) => !retained.has(name));
}

const dayOf = (name: string): string => name.slice('millrace-'.length, 'millrace-YYYY-MM-DD'.length);

async function deleteOld(folder: string, clock: Clock): Promise<readonly string[]> {
  const names = await readdir(folder);
  const old = expiredBackups(names);
  for (const name of names.filter((each) => unfinishedName.test(each))) {
    const { mtimeMs } = await stat(join(folder, name));
    if (mtimeMs < clock.nowMs() - ABANDONED_MS) old.push(name);
  }
  for (const name of old) await rm(join(folder, name));
  return old;
}
