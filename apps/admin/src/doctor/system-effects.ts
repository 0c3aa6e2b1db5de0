import { execFile, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { DeadlineError, systemClock, withDeadline } from '@millrace/platform/clock';
import type { Effects, FoundFile, FreeSpace, Unresponsive } from './check.ts';
import { greeting, isThisMachine, sendRequest, servedCertificate } from './network.ts';

/** A busy machine needs seconds to start a program. The limit of a check is higher. */
const PROGRAM_MS = 8_000;
/** The exit code of timeout(1). */
const TIMED_OUT = 124;

/** The machine on which the command runs. */
export const systemEffects: Effects = {
  clock: systemClock,
  request: sendRequest,
  servedCertificate,
  greeting,
  freeSpace,
  dumpsIn,
  isThisMachine,
  identityOf: async (user) => {
    const [uid, gids] = await Promise.all(['-u', '-G'].map((flag) => run('id', [flag, user])));
    if (uid?.code !== 0 || gids?.code !== 0) return null;
    return { uid: Number(uid.output), gids: gids.output.trim().split(' ').map(Number) };
  },
  run: (file, args) => run(file, args),
  hasSystemd: () => existsSync('/run/systemd/system'),
};

/** In a child process, because a call on a mount without its server would also block the end of this process. */
async function freeSpace(folder: string): Promise<FreeSpace | Unresponsive | null> {
  const results = await Promise.all([
    run('stat', ['--file-system', '--format=%S %a %b', folder]),
    run('stat', ['--format=%d', folder]),
  ]);
  if (results.some((result) => result?.code === TIMED_OUT)) return 'unresponsive';
  if (results.some((result) => result?.code !== 0)) return null;
  const [blockBytes = 0, free = 0, total = 0, device = 0] = results.flatMap((result) =>
    (result?.output ?? '').trim().split(' ').map(Number),
  );
  return { freeBytes: free * blockBytes, totalBytes: total * blockBytes, device };
}

async function dumpsIn(folder: string): Promise<readonly FoundFile[] | Unresponsive> {
  const format = ['-printf', '%s %T@ %f\\n'];
  const result = await run('find', ['-H', folder, '-maxdepth', '1', '-name', '*.dump', ...format]);
  if (result?.code === TIMED_OUT) return 'unresponsive';
  const lines = (result?.output ?? '').split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const [bytes, seconds, ...name] = line.split(' ');
    return { name: name.join(' '), bytes: Number(bytes), modifiedMs: Number(seconds) * 1_000 };
  });
}

/** Also returns in time if the program cannot be killed. */
export function run(
  file: string,
  args: readonly string[],
  limitMs = PROGRAM_MS,
): Promise<{ readonly code: number; readonly output: string } | null> {
  const ended = withDeadline(
    systemClock,
    file,
    limitMs,
    (signal) =>
      new Promise<{ readonly code: number; readonly output: string } | null>((resolve) => {
        const child = execFile(file, [...args], (error, output) => {
          if (error === null) resolve({ code: 0, output });
          else if (error.code === 'ENOENT') resolve(null);
          else resolve({ code: typeof error.code === 'number' ? error.code : 1, output });
        });
        signal.addEventListener('abort', () => abandon(child));
      }),
  );
  return ended.catch((error: unknown) => {
    if (error instanceof DeadlineError) return { code: TIMED_OUT, output: '' };
    throw error;
  });
}

/** This process can end before the child does. */
function abandon(child: ChildProcess): void {
  child.kill('SIGKILL');
  child.stdout?.destroy();
  child.stderr?.destroy();
  child.unref();
}
