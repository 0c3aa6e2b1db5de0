import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@millrace/platform/clock';
import { nodeFlags } from '@millrace/platform/lifecycle';

const repositoryRoot = fileURLToPath(new URL('../../../../', import.meta.url));
/** Node's compile cache, because tests start the same programs many times. */
const compileCache = `${repositoryRoot}.millrace/compile-cache`;

/** A folder of `npm run release -- server`, whose programs tests start instead of the sources. */
export const releaseOfTests = process.env['MILLRACE_TEST_RELEASE'] ?? null;

export interface StartProcessOptions {
  /** Shown in errors: `worker-a`. */
  readonly name: string;
  /** A TypeScript file, relative to the root of the repository. */
  readonly entry: string;
  readonly args?: readonly string[];
  /** The complete environment. Nothing is inherited, so that a developer's shell cannot change a test. */
  readonly env: Readonly<Record<string, string>>;
  /** A URL that responds 2xx when the process is ready. Without it the process counts as ready once spawned. */
  readonly readyUrl?: string;
  /** Start the program of this release instead of its source; null for the source. */
  readonly releaseFolder?: string | null;
}

/** A third-party program, such as an engine for one test. */
export interface StartCommandOptions {
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly readyUrl?: string;
}

export interface TestProcess {
  readonly name: string;
  readonly pid: number;
  /** The output on stdout and stderr so far. */
  output(): string;
  running(): boolean;
  /** kill -9, without clean-up. Resolves when the process has ended. */
  crash(): Promise<void>;
  /** SIGSTOP: freezes the process as in a long pause of the machine. */
  freeze(): void;
  thaw(): void;
  /** SIGTERM, then kill -9 after `graceMs`. Returns the exit code, or null if the process was killed. */
  stop(graceMs?: number): Promise<number | null>;
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  [Symbol.asyncDispose](): Promise<void>;
}

const MAX_OUTPUT_BYTES = 2_000_000;
/** A process that is not ready by then hangs. Long, because other tests may use most of the CPU. */
const NOT_READY_MS = 240_000;
const READY_CALL_MS = 15_000;
/** Longer than our programs take to drain (`MILLRACE_DRAIN_MS`). */
const STOP_GRACE_MS = 120_000;

/** Starts one of our programs as a separate process with the Node of the test. */
export async function startProcess(options: StartProcessOptions): Promise<TestProcess> {
  const { name, entry, args = [], env, readyUrl, releaseFolder = releaseOfTests } = options;
  return startCommand({
    name,
    file: process.execPath,
    args: [...nodeFlags, programFile(entry, releaseFolder), ...args],
    env: { NODE_COMPILE_CACHE: compileCache, ...env },
    folder: repositoryRoot,
    ...(readyUrl === undefined ? {} : { readyUrl }),
  });
}

/** `apps/api/src/main.ts` is `lib/api.js` in a release. */
function programFile(entry: string, releaseFolder: string | null): string {
  const [, app] = /^apps\/(\w+)\/src\/main\.ts$/.exec(entry) ?? [];
  return releaseFolder === null || app === undefined ? entry : join(releaseFolder, 'lib', `${app}.js`);
}

export async function startCommand(options: StartCommandOptions): Promise<TestProcess> {
  // setpriv lets the kernel end the process with this one, because a killed runner cannot, and an orphan would disturb
  // the next run.
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', options.file, ...options.args], {
    cwd: options.folder,
    env: { ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  await once(child, 'spawn');
  const handle = handleOf(options.name, child);
  try {
    if (options.readyUrl !== undefined) {
      await waitReady(handle, options.readyUrl);
    }
  } catch (error) {
    await handle.crash();
    throw error;
  }
  return handle;
}

function handleOf(name: string, child: ChildProcess): TestProcess {
  const { pid } = child;
  if (pid === undefined) throw new Error(`${name} was spawned without a pid.`);
  // Chunks are joined only on request, because a busy process writes tens of thousands of lines.
  let chunks: Buffer[] = [];
  let bytes = 0;
  const text = (): string => {
    const whole = Buffer.concat(chunks).subarray(-MAX_OUTPUT_BYTES);
    chunks = [whole];
    bytes = whole.length;
    return whole.toString('utf8');
  };
  const collect = (chunk: Buffer): void => {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > 2 * MAX_OUTPUT_BYTES) text();
  };
  child.stdout?.on('data', collect);
  child.stderr?.on('data', collect);
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  const running = (): boolean => child.exitCode === null && child.signalCode === null;
  const crash = async (): Promise<void> => {
    if (running()) child.kill('SIGKILL');
    await exited;
  };
  return {
    name,
    pid,
    output: text,
    running,
    crash,
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    stop: async (graceMs = STOP_GRACE_MS) => {
      if (!running()) return (await exited).code;
      child.kill('SIGTERM');
      const stopWaiting = new AbortController();
      const late = systemClock.sleep(graceMs, stopWaiting.signal).then(
        () => 'late' as const,
        () => 'late' as const,
      );
      const outcome = await Promise.race([exited, late]);
      stopWaiting.abort();
      if (outcome !== 'late') return outcome.code;
      await crash();
      return null;
    },
    exited,
    [Symbol.asyncDispose]: crash,
  };
}

async function waitReady(handle: TestProcess, readyUrl: string): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + NOT_READY_MS;
  while (systemClock.monotonicMs() < deadlineMs) {
    if (!handle.running()) {
      throw new Error(`${handle.name} ended before it was ready. Its output:\n${handle.output()}`);
    }
    const ready = await fetch(readyUrl, { signal: AbortSignal.timeout(READY_CALL_MS) }).then(
      async (response) => {
        await response.body?.cancel();
        return response.ok;
      },
      () => false,
    );
    if (ready) return;
    await systemClock.sleep(25);
  }
  throw new Error(`${handle.name} was not ready after ${NOT_READY_MS} ms. Its output:\n${handle.output()}`);
}
