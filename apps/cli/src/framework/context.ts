import type { Account, Millrace } from '../sdk.ts';
import type { Manifest } from './manifest.ts';
import type { Profile } from './profiles.ts';

export type PaintFormat = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan' | 'magenta' | 'blue';
export type Paint = (format: PaintFormat, text: string) => string;

/** The streams of a command. Data goes to `out`; everything else (questions, progress, hints) goes to `err`. */
export interface Io {
  readonly out: (text: string) => void;
  readonly outBytes: (bytes: Uint8Array) => void;
  readonly err: (text: string) => void;
  readonly isTty: boolean;
  /** Standard error is a terminal, so progress can be redrawn. */
  readonly errIsTty: boolean;
  /** Standard input is a terminal, so the user can answer questions. */
  readonly inIsTty: boolean;
  /** The width of the terminal; 80 without a terminal. */
  readonly columns: number;
  readonly color: boolean;
  readonly paint: Paint;
  /** For standard error. */
  readonly paintErr: Paint;
}

export interface CliClock {
  readonly now: () => Date;
  readonly monotonicMs: () => number;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Calls `tick` repeatedly until the returned function is called; for animations. */
  readonly every: (ms: number, tick: () => void) => () => void;
}

export interface Prompt {
  /** One line, or null at the end of the input (Ctrl-D). */
  readonly line: (question: string) => Promise<string | null>;
  /** One line without echo. */
  readonly secret: (question: string) => Promise<string | null>;
  /** For conversations: buffers lines that are typed or pasted between questions. */
  readonly lines: () => LineReader;
}

export interface LineReader {
  /** The next line, or null at the end of the input (Ctrl-D). */
  readonly next: (question: string) => Promise<string | null>;
  readonly close: () => void;
}

export interface Files {
  readonly readText: (path: string) => Promise<string>;
  readonly readBytes: (path: string) => Promise<Uint8Array>;
  /** Atomic: writes a temporary file and renames it. */
  readonly write: (
    path: string,
    data: string | Uint8Array,
    options?: { readonly mode?: number },
  ) => Promise<void>;
  readonly exists: (path: string) => Promise<boolean>;
  readonly remove: (path: string) => Promise<void>;
  /** The names in a directory; empty if it does not exist. */
  readonly list: (directory: string) => Promise<readonly string[]>;
  readonly readStdin: () => Promise<string>;
}

/** Starts a program on the user's terminal and returns its exit code. */
export type Spawn = (
  program: string,
  args: readonly string[],
  options?: { readonly env?: Readonly<Record<string, string>> },
) => Promise<number>;

/** Runs a program and returns its output without showing it. */
export type Capture = (
  program: string,
  args: readonly string[],
  signal?: AbortSignal,
) => Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>;

/** The host environment of the CLI. Tests replace it. */
export interface System {
  readonly io: Omit<Io, 'paint' | 'paintErr' | 'color'> & {
    /** Whether the terminal supports colours; flags and NO_COLOR decide whether they are used. */
    readonly outHasColor: boolean;
    readonly errHasColor: boolean;
  };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: CliClock;
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal;
  /** Handles Ctrl-C instead of `signal` until the returned function is called. */
  readonly onInterrupt: (handler: () => void) => () => void;
  readonly prompt: Prompt;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly spawn: Spawn;
  readonly capture: Capture;
  readonly files: Files;
  readonly fetch: typeof fetch;
  readonly home: string;
  readonly version: string;
  readonly hostname: string;
  readonly platform: string;
}

export interface OutputOptions {
  readonly format: 'table' | 'json';
  /** The requested columns in order; undefined for the default columns. */
  readonly columns: readonly string[] | undefined;
}

export interface Context extends Omit<System, 'io'> {
  readonly io: Io;
  /** The API client of the profile, environment and flags. Created at first use; throws without a key. */
  readonly client: () => Millrace;
  /** Like `client`, but works without a key, for public operations. */
  readonly openClient: () => Millrace;
  /** A client for another address or key, or for a new session; used by login. */
  readonly clientFor: (account: Account) => Millrace;
  readonly profile: Profile;
  readonly manifest: Manifest;
  readonly output: OutputOptions;
  readonly debug: boolean;
  /** `--yes`: confirm everything. */
  readonly yes: boolean;
  /** Asks before an action that costs money or destroys data. Without a terminal it requires `--yes`. */
  readonly confirm: (question: string) => Promise<void>;
  /** Prints a note for the user on standard error. */
  readonly note: (text: string) => void;
}
