import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommandError, optionalText, UsageError, type FlagDefaults, type FlagValues } from '../command.ts';
import { existingFlags } from './existing-flags.ts';
import type { InstallationFiles } from './installation-files.ts';
import type { MachineFacts } from './layout.ts';
import { createFolders } from './write-files.ts';
import { readJoinFile, takeSharedFiles } from './machines/join-file.ts';
import {
  checkMachines,
  machineNamed,
  parseMachines,
  readMachines,
  storeMachines,
} from './machines/machines.ts';

export interface ChosenMachines {
  /** Null: the installation is on one machine. */
  readonly machines: MachineFacts | null;
  /** The database needs two of three machines, so the runs that add machines leave it alone. */
  readonly areFilesOnly: boolean;
}

/** Reads `--machines` or `--join`, or what an earlier run stored. Writes what another machine made. */
export async function chooseMachines(files: InstallationFiles, flags: FlagValues): Promise<ChosenMachines> {
  const [list, joinPath, name] = ['machines', 'join', 'machine'].map((flag) => optionalText(flags, flag));
  if (list === undefined && joinPath === undefined) {
    if (name !== undefined) throw new UsageError('--machine needs --machines or --join.');
    return { machines: await readMachines(files), areFilesOnly: false };
  }
  if (list !== undefined && joinPath !== undefined)
    throw new UsageError('Pass --machines or --join, not both.');
  if (name === undefined) throw new UsageError('--machine is missing: the name of this machine.');
  if (joinPath === undefined) {
    const all = parseMachines(list ?? '');
    const machines = { all, self: machineNamed(all, name), isFirst: true };
    await checkMachines(files, machines);
    await createFolders(files, machines);
    await storeMachines(files, machines);
    return { machines, areFilesOnly: true };
  }
  const joinFile = await readJoinFile(joinPath);
  const { machines: all } = joinFile;
  const machines = { all, self: machineNamed(all, name), isFirst: false };
  await checkMachines(files, machines);
  await createFolders(files, machines);
  await takeSharedFiles(files, joinFile);
  await storeMachines(files, machines);
  return { machines, areFilesOnly: true };
}

/** The first operator belongs to the run that prepares the database. */
export async function defaultFlags(flags: FlagValues, folder: string): Promise<FlagDefaults> {
  const existing = await existingFlags(folder);
  const joinPath = optionalText(flags, 'join');
  if (joinPath !== undefined) {
    const { publicUrl, organisation } = await readJoinFile(joinPath);
    return { 'public-url': publicUrl, organisation, name: null, email: null };
  }
  return optionalText(flags, 'machines') === undefined ? existing : { ...existing, name: null, email: null };
}

const installedPrograms = '/usr/lib/postgresql';

/** The programs of the PostgreSQL that created the database, or of the newest installed one. */
export function findPostgresPrograms(stateFolder: string): string {
  const versionFile = join(stateFolder, 'postgres/data/PG_VERSION');
  if (existsSync(versionFile)) {
    return join(installedPrograms, readFileSync(versionFile, 'utf8').trim(), 'bin');
  }
  const versions = existsSync(installedPrograms) ? readdirSync(installedPrograms).map(Number) : [];
  const installed = versions.filter((version) =>
    existsSync(join(installedPrograms, String(version), 'bin/postgres')),
  );
  if (installed.length > 0) return join(installedPrograms, String(Math.max(...installed)), 'bin');
  throw new CommandError(
    `No PostgreSQL is installed in ${installedPrograms}. Install the package postgresql.`,
  );
}
