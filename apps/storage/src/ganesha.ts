import { spawn } from 'node:child_process';
import { mkdir, open, readdir, readFile, readlink, rename, stat } from 'node:fs/promises';
import path from 'node:path';
import { DriverError } from '@millrace/compute';
import type { Clock } from '@millrace/platform/clock';
import { systemEnv } from './command.ts';
import type { Folder } from './pool.ts';

// Runs one NFS-Ganesha process per volume. Servers outlive the agent, which finds them by the configuration path in their command
// line; a pid file could be stale.

const program = 'ganesha.nfsd';
/** They set memory limits and capabilities, then execute the server. */
const launchers = ['prlimit', 'setpriv'] as const;

/**
 * Only the capabilities to handle files as any user. The server cannot mount, trace, load modules, create devices or change the
 * network, and its children gain nothing more.
 */
const capabilities = ['chown', 'dac_override', 'dac_read_search', 'fowner', 'fsetid', 'setgid', 'setuid'];

/** A server needs about 8 MB, and some hundred MB with full caches. The limit keeps one server from using all memory. */
const maxMemoryBytes = 2 * 1_073_741_824;

const serverEnv = {
  ...systemEnv,
  // The agent uses signals, so the server must not look for a bus.
  DBUS_SYSTEM_BUS_ADDRESS: 'unix:path=/nonexistent',
  // File handles contain the UUID of the file system, which Ganesha reads through blkid. A cached entry of the device may belong
  // to its previous volume, and all handles would change at the next start.
  BLKID_FILE: '/dev/null',
};

const maxLogBytes = 8 * 1_048_576;
const stopMs = 15_000;
const pollMs = 20;

/** Starts the server and returns its pid. `onEnd` is called when it ends while the agent runs. */
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
    if (child.pid === undefined)
      throw new DriverError('unavailable', 'The NFS server of the volume has no pid.');
    return child.pid;
  } finally {
    await log.close();
  }
}

/** The pids of all servers on this host, by configuration file. */
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

/** False for another process that reused the pid. */
export async function isServerOf(folder: Folder, pid: number): Promise<boolean> {
  return (await configOf(pid)) === folder.config || isStarting(folder, pid);
}

/** The command line is empty while one program executes the next; a process that has ended has no `exe`. */
async function isStarting(folder: Folder, pid: number): Promise<boolean> {
  const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => null);
  const file = await readlink(`/proc/${pid}/exe`).catch(() => '');
  const isOwn = [program, ...launchers].includes(path.basename(file));
  return isOwn && (line === '' || (await configOf(pid)) === folder.config);
}

export async function reloadServer(folder: Folder, pid: number): Promise<void> {
  if (await isServerOf(folder, pid)) signal(pid, 'SIGHUP');
}

/** Stops the server and waits until it has ended. Clients can reclaim open files from the next one. */
export async function stopServer(folder: Folder, clock: Clock): Promise<void> {
  const pid = await findServer(folder);
  if (pid === null) return;
  const startedMs = clock.monotonicMs();
  signal(pid, 'SIGTERM');
  while (await isServerOf(folder, pid)) {
    const lateMs = clock.monotonicMs() - startedMs;
    if (lateMs > 2 * stopMs) throw new DriverError('busy', 'The NFS server of the volume does not stop.');
    if (lateMs > stopMs) signal(pid, 'SIGKILL');
    await clock.sleep(pollMs);
  }
}

/** The last error in the server's log, for the operator. */
export async function lastLogError(folder: Folder): Promise<string> {
  const text = await readFile(folder.log, 'utf8').catch(() => '');
  // The server logs an error about the missing bus at every start.
  const lines = text.split('\n').filter((line) => !line.includes(':DBUS :'));
  const words = lines
    .map((line) => /:(?:CRIT|FATAL) :(.+)/.exec(line)?.[1] ?? '')
    .filter((line) => line !== '');
  return words.at(-1)?.slice(0, 300) ?? '';
}

/** Also matches while `prlimit` or `setpriv` still run. */
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
    // The process has ended.
  }
}

/** Every connection can cause log lines, on the pool that all volumes share. The server reopens the file for each line. */
export async function rotateLog({ log }: Folder): Promise<void> {
  const size = await stat(log).then(
    (found) => found.size,
    () => 0,
  );
  if (size > maxLogBytes) await rename(log, `${log}.old`);
}
