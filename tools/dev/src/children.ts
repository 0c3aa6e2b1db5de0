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
  /** Each process has its log here, as NAME.log; that of the previous start is NAME.log.1. */
  readonly logFolder: string;
  readonly watch: boolean;
  /** Show log lines in the terminal too. */
  readonly showLogs: boolean;
  readonly print: (line: string) => void;
}

export interface Children {
  /** Resolves when every process says that it is ready; rejects when one of them cannot be started. */
  ready(): Promise<void>;
  /** Asks all of them to stop, and makes them after a while. */
  stop(): Promise<void>;
}

const STOP_GRACE_MS = 20_000;
const POLL_MS = 100;
const PROGRESS_MS = 10_000;
/** A process that ends this often without becoming ready is given up. */
const MAX_STARTS = 3;
const FIRST_RESTART_MS = 500;
const LAST_RESTART_MS = 30_000;
const TAIL_LINES = 15;
/** The exit code for wrong settings: starting again does not help. */
const EXIT_CONFIG = 78;

/** Starts the processes and keeps each of them running: one that ends is named and started again, the others go on. */
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
  /** Resolves after `stop`, or when the process was given up. */
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
      const next = isUnrecoverable
        ? 'It is not started again.'
        : `Starting it again in ${String(waitMs / 1_000)} s.`;
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
  // setpriv has the kernel tell the process when we are gone: killed outright, we could not tell it any more.
  const child = spawn('setpriv', ['--pdeathsig', 'TERM', process.execPath, ...flags, spec.entry], {
    cwd: options.root,
    env: { ...spec.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // Ctrl-C in a terminal goes to the whole group; these are told once, by us.
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
    // `close` comes after the last line of output, `exit` may come before it.
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

/** Whether the process said that it is ready before it ended. There is no deadline: a busy machine takes its time. */
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
      print(`Still waiting for ${names.join(', ')} after ${waited}; the logs are in ${logFolder}\n`);
  }
}
