import type { Account, Millrace } from '../sdk.ts';
import type { Manifest } from './manifest.ts';
import type { Profile } from './profiles.ts';

export type PaintFormat = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan' | 'magenta' | 'blue';
export type Paint = (format: PaintFormat, text: string) => string;

/** Where a command speaks. Data goes to `out`; everything else (questions, progress, hints) goes to `err`. */
export interface Io {
  readonly out: (text: string) => void;
  readonly outBytes: (bytes: Uint8Array) => void;
  readonly err: (text: string) => void;
  /** Standard output is a terminal. */
  readonly isTty: boolean;
  /** Standard error is a terminal: progress may be drawn over. */
  readonly errIsTty: boolean;
  /** Standard input is a terminal: somebody can be asked. */
  readonly inIsTty: boolean;
  /** The width of the terminal; 80 where there is none. */
  readonly columns: number;
  /** Colours may be used on standard output. */
  readonly color: boolean;
  readonly paint: Paint;
  /** The same for standard error. */
  readonly paintErr: Paint;
}

export interface CliClock {
  readonly now: () => Date;
  readonly monotonicMs: () => number;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Calls again and again until the returned function is called; for what moves on a screen. */
  readonly every: (ms: number, tick: () => void) => () => void;
}

export interface Prompt {
  /** One line, or null once the input has ended (Ctrl-D). */
  readonly line: (question: string) => Promise<string | null>;
  /** One line that is not shown while it is typed. */
  readonly secret: (question: string) => Promise<string | null>;
  /** For a conversation: what is typed or pasted while nobody asks is kept for the next question. */
  readonly lines: () => LineReader;
}

export interface LineReader {
  /** The next line, or null once the input has ended (Ctrl-D). */
  readonly next: (question: string) => Promise<string | null>;
  readonly close: () => void;
}

export interface Files {
  readonly readText: (path: string) => Promise<string>;
  readonly readBytes: (path: string) => Promise<Uint8Array>;
  /** Whole or not at all: written beside the place and then moved there. */
  readonly write: (
    path: string,
    data: string | Uint8Array,
    options?: { readonly mode?: number },
  ) => Promise<void>;
  readonly exists: (path: string) => Promise<boolean>;
  readonly remove: (path: string) => Promise<void>;
  /** The names in a directory; none if it does not exist. */
  readonly list: (directory: string) => Promise<readonly string[]>;
  /** All of standard input. */
  readonly readStdin: () => Promise<string>;
}

/** Starts a program on the person's own terminal and answers with its exit code. */
export type Spawn = (
  program: string,
  args: readonly string[],
  options?: { readonly env?: Readonly<Record<string, string>> },
) => Promise<number>;

/** Runs a program for what it prints; nothing of it reaches the terminal. */
export type Capture = (
  program: string,
  args: readonly string[],
  signal?: AbortSignal,
) => Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>;

/** What the machine gives to the command line. Tests hand in their own. */
export interface System {
  readonly io: Omit<Io, 'paint' | 'paintErr' | 'color'> & {
    /** Whether the terminal could show colours; flags and NO_COLOR decide whether it does. */
    readonly outHasColor: boolean;
    readonly errHasColor: boolean;
  };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: CliClock;
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal;
  /** Takes Ctrl-C instead of `signal`, until the returned function is called. */
  readonly onInterrupt: (handler: () => void) => () => void;
  readonly prompt: Prompt;
  /** Bytes that nobody can guess. */
  readonly randomBytes: (count: number) => Uint8Array;
  readonly spawn: Spawn;
  readonly capture: Capture;
  readonly files: Files;
  readonly fetch: typeof fetch;
  readonly home: string;
  readonly version: string;
  /** What the machine calls itself. */
  readonly hostname: string;
  /** `linux`, `darwin`, `win32` … */
  readonly platform: string;
}

export interface OutputOptions {
  readonly format: 'table' | 'json';
  /** The columns asked for, in their order; undefined for those that the command shows by itself. */
  readonly columns: readonly string[] | undefined;
}

/** What a command works with. */
export interface Context extends Omit<System, 'io'> {
  readonly io: Io;
  /** The API, as the profile, the environment and the flags say. Made at its first use; refuses without a key. */
  readonly client: () => Millrace;
  /** Without a key, for what may be read by anybody; with one if there is one. */
  readonly openClient: () => Millrace;
  /** Another address or key than the profile's, or somebody who has just signed in: for logging in. */
  readonly clientFor: (account: Account) => Millrace;
  readonly profile: Profile;
  /** Every command, for those that speak of commands. */
  readonly manifest: Manifest;
  readonly output: OutputOptions;
  readonly debug: boolean;
  /** `--yes`: every question is answered. */
  readonly yes: boolean;
  /**
   * Asks before something happens that costs or destroys. `--yes` answers it; without a terminal it is a usage error that
   * names `--yes`; a "no" ends the command as cancelled.
   */
  readonly confirm: (question: string) => Promise<void>;
  /** A remark for the person, on standard error. */
  readonly note: (text: string) => void;
}
