import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, existsSync, mkdirSync, renameSync, type WriteStream } from 'node:fs';
import path from 'node:path';
import { systemClock } from '@millrace/platform/clock';
import { nodeFlags } from '@millrace/platform/lifecycle';
import { createLineSplitter, formatLogLine } from './log-lines.ts';

export interface ChildSpec {
  readonly name: string;
  readonly entry: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readyUrl: string;
}

export interface ChildrenOptions {
  readonly root: string;
  /** Contains NAME.log of each process, and NAME.log.1 of the previous start. */
  readonly logFolder: string;
  readonly watch: boolean;
  readonly showLogs: boolean;
  readonly print: (line: string) => void;
}

export interface Children {
  /** Resolves when every process is ready; rejects when one cannot be started. */
  ready(): Promise<void>;
  /** Sends SIGTERM, and SIGKILL to processes that still run after a grace period. */
  stop(): Promise<void>;
}

const STOP_GRACE_MS = 20_000;
const POLL_MS = 100;
const PROGRESS_MS = 10_000;
/** A process that ends this often without becoming ready is not restarted. */
const MAX_STARTS = 3;
const FIRST_RESTART_MS = 500;
const LAST_RESTART_MS = 30_000;
const TAIL_LINES = 15;
/** Exit code for wrong settings, which a restart does not repair. */
const EXIT_CONFIG = 78;

/** Starts the processes, and reports and restarts each one that ends. */
export function startChildren(specs: readonly ChildSpec[], options: ChildrenOptions): Children {
  mkdirSync(options.logFolder, { recursive: true, mode: 0o700 });
  const stopping = new AbortController();
  const children = specs.map((spec) => superviseChild(spec, options, stopping.signal));
  return {
    ready: async () => {
      const waits = new AbortController();
      const progress = showProgress(children, options, waits.signal);
      try {
        await Promise.all(children.map((child) => child.firstReady));
      } finally {
        waits.abort();
        await progress;
      }
    },
    stop: async () => {
      stopping.abort();
      for (const child of children) child.kill('SIGTERM');
      const grace = new AbortController();
      const force = systemClock
        .sleep(STOP_GRACE_MS, grace.signal)
        .then(() => children.forEach((child) => child.kill('SIGKILL')))
        .catch(() => undefined);
      await Promise.all(children.map((child) => child.ended));
      grace.abort();
      await force;
    },
  };
}

interface SupervisedChild {
  readonly name: string;
  readonly firstReady: Promise<void>;
  /** Resolves after `stop`, or when the process is not restarted. */
  readonly ended: Promise<void>;
  isReady(): boolean;
  kill(signal: NodeJS.Signals): void;
}

function superviseChild(spec: ChildSpec, options: ChildrenOptions, stopping: AbortSignal): SupervisedChild {
  const first = Promise.withResolvers<void>();
  first.promise.catch(() => undefined);
  const log = openLog(options.logFolder, spec.name);
  let child: ChildProcess | null = null;
  let isReady = false;

  async function keepRunning(): Promise<void> {
    let failedStarts = 0;
    for (let starts = 1; !stopping.aborted; starts += 1) {
      const running = start(spec, options, log);
      ({ child } = running);
      const cameUp = await waitReady(spec.readyUrl, running.exited);
      if (cameUp) {
        failedStarts = 0;
        isReady = true;
        if (starts > 1) options.print(`${spec.name} is ready again.\n`);
        first.resolve();
      }
      const exit = await running.exited;
      isReady = false;
      if (stopping.aborted) break;
      failedStarts += cameUp ? 0 : 1;
      const isUnrecoverable = exit.code === EXIT_CONFIG || failedStarts >= MAX_STARTS;
      const waitMs = Math.min(LAST_RESTART_MS, FIRST_RESTART_MS * 2 ** failedStarts);
      const next = isUnrecoverable ? 'It is not restarted.' : `Restarting it in ${String(waitMs / 1_000)} s.`;
      options.print(
        `\n${spec.name} ended with ${exitText(exit)}. ${next} Its last lines:\n${running.tail()}\n`,
      );
      if (isUnrecoverable) {
        first.reject(new Error(`${spec.name} cannot be started.`));
        break;
      }
      await systemClock.sleep(waitMs, stopping).catch(() => undefined);
    }
    log.end();
  }

  return {
    name: spec.name,
    firstReady: first.promise,
    ended: keepRunning(),
    isReady: () => isReady,
    kill: (signal) => void child?.kill(signal),
  };
}

interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

function exitText({ code, signal }: Exit): string {
  return signal === null ? `code ${String(code)}` : signal;
}

interface Running {
  readonly child: ChildProcess;
  readonly exited: Promise<Exit>;
  tail(): string;
}

function start(spec: ChildSpec, options: ChildrenOptions, log: WriteStream): Running {
  const flags = [...nodeFlags];
  if (options.watch) flags.push('--watch', '--watch-preserve-output');
  // The kernel sends SIGTERM to the process when this process dies, also after SIGKILL.
  const child = spawn('setpriv', ['--pdeathsig', 'TERM', process.execPath, ...flags, spec.entry], {
    cwd: options.root,
    env: { ...spec.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // In its own process group the process does not get the terminal's Ctrl-C, only our signal.
    detached: true,
  });
  const last: string[] = [];
  const cutter = createLineSplitter((line) => {
    const text = formatLogLine(line);
    log.write(`${text}\n`);
    if (options.showLogs) options.print(`${spec.name.padEnd(7)} | ${text}\n`);
    last.push(...text.split('\n'));
    last.splice(0, last.length - TAIL_LINES);
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => cutter.push(text));
  }
  const exited = new Promise<Exit>((resolve) => {
    // `close` comes after the last output; `exit` might come before it.
    child.once('close', (code, signal) => {
      cutter.end();
      resolve({ code, signal });
    });
    child.once('error', () => resolve({ code: null, signal: null }));
  });
  return { child, exited, tail: () => last.map((line) => `  | ${line}`).join('\n') };
}

function openLog(folder: string, name: string): WriteStream {
  const file = path.join(folder, `${name}.log`);
  if (existsSync(file)) renameSync(file, `${file}.1`);
  return createWriteStream(file, { flags: 'a', mode: 0o600 });
}

/** Whether the process became ready before it ended. There is no deadline, because a busy machine may be slow. */
async function waitReady(url: string, exited: Promise<Exit>): Promise<boolean> {
  for (;;) {
    const ended = await Promise.race([exited, systemClock.sleep(POLL_MS)]);
    if (ended !== undefined) return false;
    const ready = await fetch(url, { signal: AbortSignal.timeout(10_000) }).then(
      (response) => response.ok,
      () => false,
    );
    if (ready) return true;
  }
}

async function showProgress(
  children: readonly SupervisedChild[],
  { print, logFolder }: ChildrenOptions,
  ended: AbortSignal,
): Promise<void> {
  for (let waitedMs = PROGRESS_MS; ; waitedMs += PROGRESS_MS) {
    const isOver = await systemClock.sleep(PROGRESS_MS, ended).then(
      () => false,
      () => true,
    );
    if (isOver) return;
    const names = children.filter((child) => !child.isReady()).map((child) => child.name);
    const waited = `${String(waitedMs / 1_000)} s`;
    if (names.length > 0)
      print(`Still waiting for ${names.join(', ')} after ${waited}. The logs are in ${logFolder}\n`);
  }
}
