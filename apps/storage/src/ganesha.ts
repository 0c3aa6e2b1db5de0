import { spawn } from 'node:child_process';
import { mkdir, open, readdir, readFile, readlink, rename, stat } from 'node:fs/promises';
import path from 'node:path';
import { DriverError } from '@millrace/compute';
import type { Clock } from '@millrace/platform/clock';
import { systemEnv } from './command.ts';
import type { Folder } from './pool.ts';

// One NFS-Ganesha process for each volume. Servers outlive this process: they are found again by their command line, which
// names the volume's own configuration, and by nothing that could be stale.

const program = 'ganesha.nfsd';
/** What limits its memory and its rights, and then becomes it. */
const launchers = ['prlimit', 'setpriv'] as const;

/**
 * All that a server may do as root: be the user that a client says it is, and handle files of all of them. It cannot mount,
 * trace, load, make devices or change the network, and nothing that it starts can become more.
 */
const capabilities = ['chown', 'dac_override', 'dac_read_search', 'fowner', 'fsetid', 'setgid', 'setuid'];

/** One server must not take the memory of all. It needs about 8 MB, and with its caches full some hundreds. */
const maxMemoryBytes = 2 * 1_073_741_824;

const serverEnv = {
  ...systemEnv,
  // There is no bus to speak on, and none is looked for.
  DBUS_SYSTEM_BUS_ADDRESS: 'unix:path=/nonexistent',
  // Handles hold the identity of the file system, which is read from its device. What the machine remembers of that device may
  // be of the volume that had it before, and then all handles would change with the next start.
  BLKID_FILE: '/dev/null',
};

const maxLogBytes = 8 * 1_048_576;
const stopMs = 15_000;
const pollMs = 20;

/** Starts the server of a volume and answers its pid. `onEnd` is called when it ends while this process lives. */
export async function startServer(folder: Folder, epoch: number, onEnd: () => void): Promise<number> {
  await mkdir(folder.recovery, { recursive: true, mode: 0o700 });
  await rotateLog(folder);
  const log = await open(folder.log, 'a', 0o600);
  try {
    const confinement = [
      `--bounding-set=-all,${capabilities.map((name) => `+${name}`).join(',')}`,
      '--inh-caps=-all',
      '--no-new-privs',
    ];
    const server = [program, '-F', ...['-f', folder.config], ...['-L', folder.log], ...['-p', folder.pid]];
    const [limiter, confiner] = launchers;
    const limits = [`--data=${maxMemoryBytes}`, '--core=0', '--', confiner];
    const args = [...limits, ...confinement, '--', ...server, '-N', 'NIV_EVENT', '-E', String(epoch)];
    const child = spawn(limiter, args, {
      env: serverEnv,
      cwd: '/',
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.once('exit', onEnd);
    child.unref();
    if (child.pid === undefined) throw new DriverError('unavailable', 'The server of the volume has no pid.');
    return child.pid;
  } finally {
    await log.close();
  }
}

/** The pids of all servers on this machine, by the file of their configuration. */
export async function findServers(): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const config = await configOf(Number(name));
    if (config !== null) found.set(config, Number(name));
  }
  return found;
}

export async function findServer(folder: Folder): Promise<number | null> {
  return (await findServers()).get(folder.config) ?? null;
}

/** Whether the process is the server of this volume, and not one that got the pid of a dead one. */
export async function isServerOf(folder: Folder, pid: number): Promise<boolean> {
  return (await configOf(pid)) === folder.config || isStarting(folder, pid);
}

/** For an instant in which one program becomes the other it has no words; a process that has ended has no program either. */
async function isStarting(folder: Folder, pid: number): Promise<boolean> {
  const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => null);
  const file = await readlink(`/proc/${pid}/exe`).catch(() => '');
  const isOwn = [program, ...launchers].includes(path.basename(file));
  return isOwn && (line === '' || (await configOf(pid)) === folder.config);
}

/** Has it read its configuration again. */
export async function reloadServer(folder: Folder, pid: number): Promise<void> {
  if (await isServerOf(folder, pid)) signal(pid, 'SIGHUP');
}

/** Ends it, and comes back when it is gone. Clients may claim what they had open from the next one. */
export async function stopServer(folder: Folder, clock: Clock): Promise<void> {
  const pid = await findServer(folder);
  if (pid === null) return;
  const startedMs = clock.monotonicMs();
  signal(pid, 'SIGTERM');
  while (await isServerOf(folder, pid)) {
    const lateMs = clock.monotonicMs() - startedMs;
    if (lateMs > 2 * stopMs) throw new DriverError('busy', 'The server of the volume does not end.');
    if (lateMs > stopMs) signal(pid, 'SIGKILL');
    await clock.sleep(pollMs);
  }
}

/** What it said last, for the operator who is told that it does not serve. */
export async function lastLogError(folder: Folder): Promise<string> {
  const text = await readFile(folder.log, 'utf8').catch(() => '');
  // It complains about the bus that it was denied at every start.
  const lines = text.split('\n').filter((line) => !line.includes(':DBUS :'));
  const words = lines
    .map((line) => /:(?:CRIT|FATAL) :(.+)/.exec(line)?.[1] ?? '')
    .filter((line) => line !== '');
  return words.at(-1)?.slice(0, 300) ?? '';
}

/** Also while the programs that start it have not become it yet. */
async function configOf(pid: number): Promise<string | null> {
  const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  const words = line.split('\0');
  const at = words.findIndex((word) => path.basename(word) === program);
  if (at !== 0 && !launchers.some((launcher) => launcher === words[0])) return null;
  return at !== -1 && words[at + 2] === '-f' ? (words[at + 3] ?? null) : null;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended meanwhile.
  }
}

/**
 * Puts a long log aside; a server opens it anew for each line. Whoever reaches a server can have it say something with every
 * connection, and what it says is kept on the pool that all volumes share.
 */
export async function rotateLog({ log }: Folder): Promise<void> {
  const size = await stat(log).then(
    (found) => found.size,
    () => 0,
  );
  if (size > maxLogBytes) await rename(log, `${log}.old`);
}
