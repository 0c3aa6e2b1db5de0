import { execFile, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs';

import type { Launch, StopPolicy } from './engine.ts';
import { Failure } from './failure.ts';
import { elapsedMs, sleep } from './time.ts';

/** Identifies a process beyond its pid, which the kernel reuses: by its start time in clock ticks since boot, and the boot id. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTicks: string;
  readonly bootId: string;
}

export interface ProcStat {
  readonly state: string;
  readonly parent: number;
  readonly startTicks: string;
}

/** Parses /proc/PID/stat, whose second field may contain any character. */
export function parseProcStat(text: string): ProcStat | null {
  const afterName = text.lastIndexOf(')');
  if (afterName < 0) return null;
  const fields = text
    .slice(afterName + 1)
    .trim()
    .split(/\s+/u);
  const [state, parent] = fields;
  const startTicks = fields[19];
  if (state === undefined || parent === undefined || startTicks === undefined) return null;
  return { state, parent: Number(parent), startTicks };
}

let cachedBootId: string | undefined;

function bootId(): string {
  cachedBootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  return cachedBootId;
}

/** The identity of a live process, or null. A zombie counts as dead: it executes nothing and holds no files. */
export function identify(pid: number): ProcessIdentity | null {
  try {
    const stat = parseProcStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    if (stat === null || stat.state === 'Z' || stat.state === 'X') return null;
    return { pid, startTicks: stat.startTicks, bootId: bootId() };
  } catch {
    return null;
  }
}

export function isAlive(identity: ProcessIdentity): boolean {
  const now = identify(identity.pid);
  return now !== null && now.startTicks === identity.startTicks && now.bootId === identity.bootId;
}

export function signal(identity: ProcessIdentity, name: NodeJS.Signals): boolean {
  if (!isAlive(identity)) return false;
  try {
    process.kill(identity.pid, name);
    return true;
  } catch {
    return false;
  }
}

async function waitForExit(identity: ProcessIdentity, timeoutMs: number): Promise<boolean> {
  const deadline = elapsedMs() + timeoutMs;
  while (isAlive(identity)) {
    if (elapsedMs() >= deadline) return false;
    await sleep(20);
  }
  return true;
}

export async function stopProcess(
  identity: ProcessIdentity,
  policy: StopPolicy,
): Promise<'stopped' | 'killed'> {
  signal(identity, policy.signal);
  if (await waitForExit(identity, policy.timeoutMs)) return 'stopped';
  await killProcess(identity);
  return 'killed';
}

export async function killProcess(identity: ProcessIdentity): Promise<void> {
  signal(identity, 'SIGKILL');
  if (await waitForExit(identity, 10_000)) return;
  throw new Failure(
    `Process ${identity.pid} still exists 10 s after SIGKILL.`,
    'It is blocked in the kernel, usually by a disk or a mount. Read /proc/PID/stack and the kernel log.',
  );
}

const logLimitBytes = 32 * 1024 * 1024;

/**
 * Starts a daemon in its own session with its output in a log file, so that it survives this process and never blocks on a pipe.
 */
export async function launchDaemon(launch: Launch, log: string): Promise<ProcessIdentity> {
  const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  if (size > logLimitBytes) renameSync(log, `${log}.1`);
  const output = openSync(log, 'a', 0o644);
  try {
    const child = spawn(...daemonCommand(launch), {
      detached: true,
      cwd: '/',
      stdio: ['ignore', output, output],
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.unref();
    const identity = child.pid === undefined ? null : identify(child.pid);
    if (identity === null) {
      throw new Failure(`${launch.file} exited at once.`, `Its output is in ${log}.`, tail(log));
    }
    return identity;
  } finally {
    closeSync(output);
  }
}

/** `sh` and `env` exec the command, so the pid is the daemon's. The fixed umask lets other users read its files. */
function daemonCommand(launch: Launch): [string, readonly string[]] {
  const pairs = Object.entries(launch.env ?? {}).map(([name, value]) => `${name}=${value}`);
  const command = ['env', ...pairs, launch.file, ...launch.args];
  return ['sh', ['-c', 'umask 022; exec "$@"', 'sh', ...command]];
}

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly timeoutMs?: number;
  readonly cwd?: string;
  /** Added to the environment of the tool, for secrets, which would be visible in arguments. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** Runs a short command. A command that does not exist returns code 127, as in a shell. */
export function run(file: string, args: readonly string[], options: RunOptions = {}): Promise<CommandResult> {
  return new Promise((resolve) => {
    const settings = {
      timeout: options.timeoutMs ?? 30_000,
      maxBuffer: 64 * 1024 * 1024,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      ...(options.env === undefined ? {} : { env: { ...process.env, ...options.env } }),
    };
    execFile(file, args, settings, (error, stdout, stderr) => {
      if (error === null) return resolve({ code: 0, stdout, stderr });
      const code = error.code === 'ENOENT' ? 127 : typeof error.code === 'number' ? error.code : 1;
      resolve({ code, stdout, stderr: stderr === '' ? error.message : stderr });
    });
  });
}

export async function runOrThrow(
  file: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<string> {
  const finished = await run(file, args, options);
  if (finished.code === 0) return finished.stdout;
  const output = `${finished.stderr}${finished.stdout}`.trim().split('\n').slice(-20).join('\n');
  throw new Failure(
    `\`${[file, ...args].join(' ')}\` exited with ${finished.code}.`,
    'Its output is below.',
    output,
  );
}

export function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return '';
  }
}

export function parentOf(pid: number): number | null {
  try {
    return parseProcStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.parent ?? null;
  } catch {
    return null;
  }
}

export function allPids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .map(Number);
}

export function tail(file: string, lines = 20): string {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  } catch {
    return '';
  }
}
