import { spawn, type ChildProcess } from 'node:child_process';
import { systemClock } from '@millrace/platform/clock';
import { lineCutter, readable } from './lines.ts';

export interface ChildSpec {
  readonly name: string;
  readonly entry: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readyUrl: string;
}

export interface Children {
  /** Resolves when every process says that it is ready; rejects when one ends first. */
  ready(): Promise<void>;
  /** Resolves with the name and code of the first process that ends. */
  readonly firstExit: Promise<{ readonly name: string; readonly code: number | null }>;
  /** Asks all of them to stop, and makes them after a while. */
  stop(): Promise<void>;
}

const READY_TIMEOUT_MS = 60_000;
const STOP_GRACE_MS = 20_000;

export function startChildren(
  specs: readonly ChildSpec[],
  options: { readonly root: string; readonly watch: boolean; readonly print: (line: string) => void },
): Children {
  const children = specs.map((spec) => ({ spec, child: start(spec, options) }));
  const exits = children.map(
    ({ spec, child }) =>
      new Promise<{ name: string; code: number | null }>((resolve) => {
        child.once('exit', (code) => resolve({ name: spec.name, code }));
        child.once('error', () => resolve({ name: spec.name, code: null }));
      }),
  );
  const firstExit = Promise.race(exits);
  return {
    firstExit,
    ready: async () => {
      await Promise.all(specs.map((spec) => waitReady(spec, firstExit)));
    },
    stop: async () => {
      for (const { child } of children) child.kill('SIGTERM');
      const grace = new AbortController();
      const force = systemClock
        .sleep(STOP_GRACE_MS, grace.signal)
        .then(() => children.forEach(({ child }) => child.kill('SIGKILL')))
        .catch(() => undefined);
      await Promise.all(exits);
      grace.abort();
      await force;
    },
  };
}

function start(
  spec: ChildSpec,
  options: { readonly root: string; readonly watch: boolean; readonly print: (line: string) => void },
): ChildProcess {
  const flags = ['--disable-warning=ExperimentalWarning'];
  if (options.watch) flags.push('--watch', '--watch-preserve-output');
  // setpriv has the kernel tell the process when we are gone: killed outright, we could not tell it any more.
  const child = spawn('setpriv', ['--pdeathsig', 'TERM', process.execPath, ...flags, spec.entry], {
    cwd: options.root,
    env: { ...spec.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // Ctrl-C in a terminal goes to the whole group; these are told once, by us.
    detached: true,
  });
  const cutter = lineCutter((line) => options.print(`${spec.name.padEnd(7)} | ${readable(line)}\n`));
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => cutter.push(text));
  }
  child.once('exit', () => cutter.end());
  return child;
}

async function waitReady(spec: ChildSpec, firstExit: Children['firstExit']): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + READY_TIMEOUT_MS;
  for (;;) {
    const ended = await Promise.race([firstExit, systemClock.sleep(100)]);
    if (ended !== undefined) throw new Error(`${ended.name} ended before everything was ready.`);
    const ready = await fetch(spec.readyUrl, { signal: AbortSignal.timeout(2_000) }).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ready) return;
    if (systemClock.monotonicMs() > deadlineMs)
      throw new Error(`${spec.name} did not become ready in a minute.`);
  }
}
