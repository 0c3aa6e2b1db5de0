import { join } from 'node:path';
import type { JsonShape } from './framework/command.ts';
import type { Capture, CliClock, Files, Spawn, System } from './framework/context.ts';
import { findCommand } from './framework/manifest.ts';
import { splitArguments } from './framework/parse.ts';
import { runCommandLine } from './framework/runner.ts';
import { createInterrupts, type Interrupts } from './interrupts.ts';
import { manifest } from './manifest.generated.ts';
import { loadClient } from './sdk.ts';

/** Runs the CLI in the process of the test, with a simulated system. For tests only. */
export interface RunOptions {
  /** The API; see `fakeApi`. By default, all requests fail. */
  readonly fetch?: typeof fetch;
  readonly apiUrl?: string;
  /** Null: not logged in. */
  readonly apiKey?: string | null;
  readonly env?: Readonly<Record<string, string>>;
  /** Initial files by path. Pass the `files` of an earlier run to continue with them. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  readonly stdin?: string;
  /** All three streams are terminals. */
  readonly tty?: boolean;
  readonly color?: boolean;
  readonly columns?: number;
  /** The answers of the user, in order; then the input ends. */
  readonly answers?: readonly string[];
  readonly spawn?: Spawn;
  readonly capture?: Capture;
  readonly now?: string;
  /** A real clock, for tests that wait for real work. */
  readonly clock?: CliClock;
  readonly signal?: AbortSignal;
  /** Simulates Ctrl-C with `raise()`. */
  readonly interrupts?: Interrupts;
  /** Called with output while the command runs. */
  readonly onPrinted?: (text: string) => void;
}

export interface RunResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly bytes: Uint8Array;
  readonly files: Readonly<Record<string, string | Uint8Array>>;
  /** The permissions of written files. */
  readonly modes: Readonly<Record<string, number>>;
  readonly spawned: readonly { readonly program: string; readonly args: readonly string[] }[];
  readonly questions: readonly string[];
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads fields of data it then asserts on
  readonly json: () => any;
}

export const HOME = '/home/someone';
export const API_URL = 'https://api.millrace.test';
export const API_KEY = 'mr_test_fixture';

/** Runs `millrace ARGS`. Checks that --json output has exactly the fields that the command declares. */
export async function runCli(args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const machine = fakeSystem(options);
  const code = await runCommandLine({ manifest, loadClient }, machine.system, args);
  const result = { code, ...machine.outcome() };
  if (code === 0) await checkPinnedFields(args, result);
  return result;
}

async function checkPinnedFields(args: readonly string[], result: RunResult): Promise<void> {
  const isJson = args.includes('--json') || args.join(' ').includes('-o json');
  const found = findCommand(manifest, splitArguments(args).after);
  if (!isJson || args.includes('--help') || found === undefined) return;
  const { json, name } = await found.entry.load();
  for (const value of printedValues(json, result.stdout)) {
    const difference = fieldDifference(json, value);
    if (difference !== null) {
      throw new Error(`millrace ${name} --json does not print the declared fields: ${difference}`);
    }
  }
}

function printedValues(json: JsonShape, stdout: string): readonly unknown[] {
  switch (json.kind) {
    case 'none':
    case 'any':
      return [];
    case 'record':
      return [JSON.parse(stdout)];
    case 'list':
      return JSON.parse(stdout) as unknown[];
    case 'lines':
      return stdout
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as unknown);
  }
}

function fieldDifference(json: JsonShape, value: unknown): string | null {
  if (json.kind === 'none' || json.kind === 'any') return null;
  if (typeof value !== 'object' || value === null) return `${JSON.stringify(value)} is not an object`;
  const printed = Object.keys(value);
  const unknown = printed.filter((field) => !json.fields.includes(field));
  const missing = json.fields.filter(
    (field) => !printed.includes(field) && json.optional?.includes(field) !== true,
  );
  if (unknown.length === 0 && missing.length === 0) return null;
  return `not declared: ${unknown.join(', ') || 'none'}; missing: ${missing.join(', ') || 'none'}`;
}

function fakeSystem(options: RunOptions): {
  readonly system: System;
  readonly outcome: () => Omit<RunResult, 'code'>;
} {
  const { tty = false, color = false } = options;
  let stdout = '';
  let stderr = '';
  let bytes = Buffer.alloc(0);
  const stored = new Map<string, string | Uint8Array>(Object.entries(options.files ?? {}));
  const modes: Record<string, number> = {};
  const spawned: { program: string; args: readonly string[] }[] = [];
  const questions: string[] = [];
  const responses = [...(options.answers ?? [])];
  const response = (question: string): Promise<string | null> => {
    questions.push(question);
    return Promise.resolve(responses.shift() ?? null);
  };
  const interrupts = options.interrupts ?? createInterrupts();
  const apiKey = options.apiKey === undefined ? API_KEY : options.apiKey;
  const system: System = {
    io: {
      out: (text) => {
        stdout += text;
        options.onPrinted?.(text);
      },
      outBytes: (chunk) => void (bytes = Buffer.concat([bytes, chunk])),
      err: (text) => void (stderr += text),
      isTty: tty,
      errIsTty: tty,
      inIsTty: tty,
      columns: options.columns ?? 100,
      outHasColor: color,
      errHasColor: color,
    },
    env: {
      MILLRACE_API_URL: options.apiUrl ?? API_URL,
      ...(apiKey === null ? {} : { MILLRACE_API_KEY: apiKey }),
      ...options.env,
    },
    clock: options.clock ?? fakeClock(options.now ?? '2026-03-01T12:00:00.000Z'),
    signal: options.signal ?? interrupts.signal,
    onInterrupt: interrupts.listen,
    prompt: { line: response, secret: response, lines: () => ({ next: response, close: () => undefined }) },
    randomBytes: (count) => new Uint8Array(count).fill(7),
    spawn: async (program, args, spawnOptions) => {
      spawned.push({ program, args });
      return options.spawn === undefined ? 0 : options.spawn(program, args, spawnOptions);
    },
    capture:
      options.capture ?? ((program) => Promise.reject(new Error(`The simulated system has no ${program}.`))),
    files: fakeFiles(stored, modes, options.stdin ?? ''),
    fetch: options.fetch ?? (() => Promise.reject(new TypeError('This test has no network.'))),
    home: HOME,
    hostname: 'laptop',
    version: '0.0.0-test',
    platform: 'linux',
  };
  return {
    system,
    outcome: () => ({
      stdout,
      stderr,
      bytes,
      files: Object.fromEntries(stored),
      modes,
      spawned,
      questions,
      json: () => JSON.parse(stdout) as unknown,
    }),
  };
}

function fakeFiles(
  stored: Map<string, string | Uint8Array>,
  modes: Record<string, number>,
  stdin: string,
): Files {
  const found = (path: string): string | Uint8Array => {
    const data = stored.get(path);
    if (data === undefined) {
      throw Object.assign(new Error(`ENOENT: no such file or directory, open '${path}'`), { code: 'ENOENT' });
    }
    return data;
  };
  return {
    readText: async (path) => Buffer.from(found(path)).toString('utf8'),
    readBytes: async (path) => Buffer.from(found(path)),
    write: (path, data, { mode = 0o644 } = {}) => {
      stored.set(path, data);
      modes[path] = mode;
      return Promise.resolve();
    },
    exists: (path) => Promise.resolve(stored.has(path)),
    remove: (path) => {
      stored.delete(path);
      return Promise.resolve();
    },
    list: (directory) =>
      Promise.resolve(
        [...stored.keys()]
          .filter((path) => path.startsWith(`${directory}/`))
          .map((path) => path.slice(directory.length + 1))
          .filter((name) => !name.includes('/')),
      ),
    readStdin: () => Promise.resolve(stdin),
  };
}

/** Sleeping takes no time: it advances the clock and runs the due ticks. */
function fakeClock(start: string): CliClock {
  const startMs = Date.parse(start);
  let nowMs = startMs;
  const tickers = new Set<{ readonly ms: number; nextMs: number; readonly tick: () => void }>();
  return {
    now: () => new Date(nowMs),
    monotonicMs: () => nowMs - startMs,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      nowMs += ms;
      for (const ticker of tickers) {
        while (ticker.nextMs <= nowMs) {
          ticker.nextMs += ticker.ms;
          ticker.tick();
        }
      }
      // Yield, so that other tasks run as they would during a real wait.
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      signal?.throwIfAborted();
    },
    every: (ms, tick) => {
      const ticker = { ms, nextMs: nowMs + ms, tick };
      tickers.add(ticker);
      return () => void tickers.delete(ticker);
    },
  };
}

export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Headers;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads fields of data it then asserts on
  readonly body: any;
}

/** The response, or a function of the request. Undefined responds with 204. */
export type FakeRoute = ((request: FakeRequest) => unknown) | object | string | null | undefined;

export interface FakeApi {
  readonly fetch: typeof fetch;
  /** The requests so far, in order. */
  readonly requests: readonly FakeRequest[];
}

/**
 * Responds from a table: `'GET /v2/api-keys'` to its JSON, a `Response`, or a function of the request. A star
 * matches one path segment. Other requests get 404.
 */
export function fakeApi(routes: Readonly<Record<string, FakeRoute>>): FakeApi {
  const requests: FakeRequest[] = [];
  const response = async (input: Parameters<typeof fetch>[0], init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    const url = new URL(request.url);
    const text = await request.text();
    const recorded: FakeRequest = {
      method: request.method,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: request.headers,
      signal: init?.signal ?? request.signal,
      body: text === '' ? undefined : JSON.parse(text),
    };
    requests.push(recorded);
    const route = Object.entries(routes).find(([pattern]) => matches(pattern, recorded));
    if (route === undefined)
      return errorResponse(404, 'ROUTE_NOT_FOUND', `No route for ${recorded.method} ${recorded.path}`);
    const made: unknown =
      typeof route[1] === 'function'
        ? await (route[1] as (request: FakeRequest) => unknown)(recorded)
        : route[1];
    if (made instanceof Response) return made;
    return made === undefined ? new Response(null, { status: 204 }) : Response.json(made, { headers: ids });
  };
  return { fetch: response, requests };
}

const ids = { 'x-request-id': 'req_fixture' };

/** An error with the body of the API. */
export function errorResponse(
  status: number,
  reason: string,
  message: string,
  more: Readonly<Record<string, unknown>> = {},
): Response {
  const body = {
    code: 'REFUSED',
    message,
    reason,
    suggestion: 'Do something else.',
    requestId: 'req_fixture',
    docUrl: `${API_URL}/docs/errors#${reason}`,
    issues: [],
    ...more,
  };
  return Response.json(body, { status, headers: ids });
}

function matches(pattern: string, { method, path }: FakeRequest): boolean {
  const [wantedMethod = '', wantedPath = ''] = pattern.split(' ');
  if (wantedMethod !== method) return false;
  const wanted = wantedPath.split('/');
  const actual = path.split('/');
  return (
    wanted.length === actual.length && wanted.every((part, index) => part === '*' || part === actual[index])
  );
}

/** The path of the profiles on the simulated system. */
export const PROFILES_PATH = join(HOME, '.config', 'millrace', 'profiles.json');
