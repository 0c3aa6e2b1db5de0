import { CommandError } from '../command.ts';
import { groupPackages } from './layout.ts';
import { ProgramError, runProgram } from '../run-program.ts';

/** The id of a group of this machine, or null if owners cannot be changed. */
export type GroupId = (group: string) => Promise<number | null>;

/** Finds groups by name. Without root, files could not be given to the users of the services. */
export function systemGroupId(uid: number | undefined): GroupId {
  return async (group) => {
    if (uid !== 0) throw new CommandError('Run this command as root: it creates files of several users.');
    const [, , id] = (await readEntry('group', group)) ?? [];
    if (id !== undefined) return Number(id);
    throw new CommandError(
      `The group ${group} does not exist. It belongs to the package ${groupPackages[group] ?? 'millrace-server'}.\n` +
        'Install the package, and run this command again.',
    );
  };
}

/** The ids of a user of this machine, or null. */
export async function findUser(name: string): Promise<{ readonly uid: number; readonly gid: number } | null> {
  const [, , uid, gid] = (await readEntry('passwd', name)) ?? [];
  return uid === undefined || gid === undefined ? null : { uid: Number(uid), gid: Number(gid) };
}

async function readEntry(database: 'group' | 'passwd', name: string): Promise<string[] | null> {
  try {
    return (await runProgram('getent', [database, name])).trim().split(':');
  } catch (error) {
    // getent returns 2 if it finds no entry.
    if (error instanceof ProgramError && error.exitCode === 2) return null;
    throw error;
  }
}
