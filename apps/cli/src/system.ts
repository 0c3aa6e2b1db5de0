import { execFile, spawn as spawnProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { constants, homedir, hostname } from 'node:os';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { Writable } from 'node:stream';
import { version } from '@millrace/sdk/version';
import type { Capture, CliClock, Files, LineReader, Prompt, Spawn, System } from './framework/context.ts';
import { CliError } from './framework/errors.ts';
import type { Interrupts } from './interrupts.ts';

/** The real system: the only file that accesses the clock, the disk, the terminal and other programs. */

const clock: CliClock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  sleep: async (ms, signal) => {
    await wait(ms, undefined, signal === undefined ? {} : { signal });
  },
  every: (ms, tick) => {
    const timer = setInterval(tick, ms);
    return () => {
      clearInterval(timer);
    };
  },
};

const files: Files = {
  readText: (path) => readFile(path, 'utf8'),
  readBytes: (path) => readFile(path),
  exists: async (path) => {
    try {
      await stat(path);
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  },
  remove: (path) => rm(path, { force: true }),
  list: async (directory) => {
    try {
      return await readdir(directory);
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  },
  write: async (path, data, { mode = 0o644 } = {}) => {
    try {
      if (await isPipeOrDevice(path)) await writeFile(path, data);
      else await writeAtomically(path, data, mode);
    } catch (error) {
      throw new CliError(`Cannot write ${path}.`, {
        why: error instanceof Error ? error.message : String(error),
        fix: 'Use another path, or check the permissions and free space of this one.',
        cause: error,
      });
    }
  },
  readStdin: async () => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of process.stdin as AsyncIterable<Uint8Array>) chunks.push(chunk);
    return Buffer.concat(chunks).toString('utf8');
  },
};

async function writeAtomically(path: string, data: string | Uint8Array, mode: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: mode === 0o600 ? 0o700 : 0o777 });
  const beside = `${path}.${String(process.pid)}.tmp`;
  // An existing file must not pass its permissions on to the new content.
  await rm(beside, { force: true });
  const file = await open(beside, 'wx', mode);
  try {
    try {
      await file.writeFile(data);
    } finally {
      await file.close();
    }
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
}

/** `--file /dev/null` must not replace the device by a file. */
async function isPipeOrDevice(path: string): Promise<boolean> {
  try {
    const there = await stat(path);
    return !there.isFile() && !there.isDirectory();
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}

/** Questions go to standard error, so that data can be piped. */
function createPrompt(interrupts: Interrupts): Prompt {
  const { signal } = interrupts;
  const prompt = (question: string, output: Writable): Promise<string | null> =>
    new Promise((resolve, reject) => {
      const reader = createInterface({ input: process.stdin, output, terminal: process.stdin.isTTY });
      let isAnswered = false;
      const onAbort = (): void => {
        reader.close();
        reject(signal.reason instanceof Error ? signal.reason : new Error('interrupted'));
      };
      const done = (value: string | null): void => {
        signal.removeEventListener('abort', onAbort);
        resolve(value);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      reader.once('close', () => {
        // Start a new line after an unanswered question. A secret ends its line itself.
        if (!isAnswered && process.stdin.isTTY) output.write('\n');
        done(null);
      });
      // In raw mode, Ctrl-C arrives as a key, not as a signal.
      reader.on('SIGINT', () => void interrupts.raise());
      reader.question(question, (response) => {
        isAnswered = true;
        done(response);
        reader.close();
      });
    });
  return {
    line: (question) => prompt(question, process.stderr),
    secret: async (question) => {
      process.stderr.write(question);
      const nowhere = new Writable({
        write: (_chunk, _encoding, callback) => {
          callback();
        },
      });
      const response = await prompt('', nowhere);
      process.stderr.write('\n');
      return response;
    },
    lines: () => createLineReader(interrupts),
  };
}

/** One reader for all lines, so that pasted lines become several answers and arrow keys recall earlier ones. */
function createLineReader(interrupts: Interrupts): LineReader {
  const reader = createInterface({
    input: process.stdin,
    output: process.stderr,
    terminal: process.stdin.isTTY,
  });
  const typed: string[] = [];
  let hasEnded = false;
  let waiting: ((line: string | null) => void) | null = null;
  const response = (line: string | null): void => {
    waiting?.(line);
    waiting = null;
  };
  reader.on('line', (line) => {
    if (waiting === null) typed.push(line);
    else response(line);
  });
  reader.on('close', () => {
    hasEnded = true;
    if (waiting !== null) process.stderr.write('\n');
    response(null);
  });
  reader.on('SIGINT', () => {
    // No question is open, so the current line must not be redrawn.
    if (waiting === null) {
      interrupts.raise();
      return;
    }
    // Discard the partial line, as a shell does.
    reader.write(null, { ctrl: true, name: 'e' });
    reader.write(null, { ctrl: true, name: 'u' });
    interrupts.raise();
    if (!hasEnded) reader.prompt();
  });
  return {
    next: (question) => {
      const before = typed.shift();
      if (before !== undefined) return Promise.resolve(before);
      if (hasEnded) return Promise.resolve(null);
      return new Promise((resolve) => {
        waiting = resolve;
        reader.setPrompt(question);
        reader.prompt();
      });
    },
    close: () => {
      reader.close();
    },
  };
}

const spawnWith =
  (own: NodeJS.ProcessEnv): Spawn =>
  (program, args, { env } = {}) =>
    new Promise((resolve, reject) => {
      const child = spawnProcess(program, [...args], {
        stdio: 'inherit',
        ...(env === undefined ? {} : { env: { ...own, ...env } }),
      });
      child.once('error', reject);
      child.once('exit', (code, signal) => {
        resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
      });
    });

const capture: Capture = (program, args, signal) =>
  new Promise((resolve, reject) => {
    execFile(program, [...args], { encoding: 'utf8', signal }, (error, stdout, stderr) => {
      // A failing program has printed its error; one that is missing or was killed has not.
      if (error !== null && typeof error.code !== 'number') reject(error);
      else resolve({ code: Number(error?.code ?? 0), stdout, stderr });
    });
  });

/** A user without a name, as in containers, may have no home. Then nothing is stored. */
function home(): string {
  try {
    return homedir();
  } catch {
    return '/';
  }
}

/** Some terminals report a width of 0. */
function widthOf({ columns }: { readonly columns?: number }): number | undefined {
  return columns === undefined || columns <= 0 ? undefined : columns;
}

export function createSystem(env: NodeJS.ProcessEnv, interrupts: Interrupts): System {
  return {
    io: {
      out: (text) => void process.stdout.write(text),
      outBytes: (bytes) => void process.stdout.write(bytes),
      err: (text) => void process.stderr.write(text),
      isTty: process.stdout.isTTY === true,
      errIsTty: process.stderr.isTTY === true,
      inIsTty: process.stdin.isTTY === true,
      columns: widthOf(process.stdout) ?? widthOf(process.stderr) ?? 80,
      outHasColor: process.stdout.isTTY === true && process.stdout.hasColors(),
      errHasColor: process.stderr.isTTY === true && process.stderr.hasColors(),
    },
    env,
    clock,
    signal: interrupts.signal,
    onInterrupt: interrupts.listen,
    prompt: createPrompt(interrupts),
    randomBytes,
    spawn: spawnWith(env),
    capture,
    files,
    fetch: (input, init) => fetch(input, init),
    home: home(),
    hostname: hostname(),
    version,
    platform: process.platform,
  };
}
