import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { systemClock } from '@millrace/platform/clock';
import type { Effects, FreeSpace } from './check.ts';
import { errorCode } from './installation.ts';
import { greeting, sendRequest, servedCertificate } from './network.ts';

const PROGRAM_MS = 3_000;

/** The machine on which the command runs. */
export const systemEffects: Effects = {
  clock: systemClock,
  request: sendRequest,
  servedCertificate,
  greeting,
  freeSpace,
  identityOf: async (user) => {
    const [uid, gids] = await Promise.all(['-u', '-G'].map((flag) => run('id', [flag, user])));
    if (uid?.code !== 0 || gids?.code !== 0) return null;
    return { uid: Number(uid.output), gids: gids.output.trim().split(' ').map(Number) };
  },
  run,
  hasSystemd: () => existsSync('/run/systemd/system'),
};

async function freeSpace(folder: string): Promise<FreeSpace | null> {
  try {
    const [space, { dev }] = await Promise.all([statfs(folder), stat(folder)]);
    const { bsize, bavail, blocks } = space;
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize, device: dev };
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

function run(
  file: string,
  args: readonly string[],
): Promise<{ readonly code: number; readonly output: string } | null> {
  return new Promise((resolve) => {
    execFile(file, [...args], { timeout: PROGRAM_MS }, (error, output) => {
      if (error === null) resolve({ code: 0, output });
      else if (error.code === 'ENOENT') resolve(null);
      else resolve({ code: typeof error.code === 'number' ? error.code : 1, output });
    });
  });
}
