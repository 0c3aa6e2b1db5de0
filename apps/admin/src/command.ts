import { parseArgs, type ParseArgsOptionsConfig } from 'node:util';
import type { CredentialSetting } from '@millrace/platform/config';
import type { NetGuard } from '@millrace/platform/net';
import type { DatabaseAccess, Db } from '@millrace/platform/db';

/** Output of a command. Tests pass their own. */
export interface CommandIo {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Shows a question and returns the next line. Only if a person can type it. */
  readonly prompt?: (question: string) => Promise<string>;
}

export interface CommandContext extends CommandIo {
  readonly cell: number;
  /** Read on first use, because commands for NATS and Valkey need no database. */
  readonly postgres: () => DatabaseAccess;
  /** MILLRACE_NATS_PREFIX. */
  readonly natsPrefix: () => string;
  /** Opens the database on first use and checks its schema version. */
  readonly db: () => Promise<Db>;
  /** The login that migrates and backs up, which is that of `postgres` if no other is set. */
  readonly postgresOwner: () => DatabaseAccess;
  /** MILLRACE_POSTGRES_ADMIN_URL. Null: user postgres on the socket of this machine. */
  readonly postgresAdministratorUrl: () => string | null;
  readonly backup: () => { readonly folder: string; readonly caFile: string | null };
  /** Engine settings, read on first use, because few commands need them. */
  readonly fleet: () => {
    readonly credentials: Readonly<Record<string, CredentialSetting>>;
    readonly allowPlaintext: boolean;
    readonly guard: NetGuard;
  };
}

export interface Flag {
  readonly describe: string;
  /** Placeholder of the value in help; absent for boolean flags. */
  readonly value?: string;
  readonly required?: true;
  /** Explains the value where a person is prompted for it. */
  readonly question?: { readonly about: string; readonly example: string };
  /** Returns the problem with a value, as in "is not an email address". */
  readonly check?: (value: string) => string | null;
}

export type FlagValues = Readonly<Record<string, string | boolean | undefined>>;

/** Values of flags that are not passed. Null: the flag is not required. */
export type FlagDefaults = Readonly<Record<string, string | null | undefined>>;

/** A command as data, from which help, parsing and checks are derived. */
export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly flags: Readonly<Record<string, Flag>>;
  /** Defaults from an earlier run of the command. */
  readonly defaults?: (flags: FlagValues) => Promise<FlagDefaults>;
  readonly example: string;
  readonly run: (context: CommandContext, flags: FlagValues) => Promise<void>;
}

/** Invalid arguments: shown with the usage, exit code 2. */
export class UsageError extends Error {}

/** A valid command that was refused, with a reason that helps the user: exit code 1. */
export class CommandError extends Error {}

/** Prompts for required flags that are missing and have a question. */
export async function parseFlags(
  command: Command,
  words: readonly string[],
  prompt?: CommandIo['prompt'],
): Promise<FlagValues> {
  const options: ParseArgsOptionsConfig = Object.fromEntries(
    Object.entries(command.flags).map(([name, flag]) => [
      name,
      { type: flag.value === undefined ? 'boolean' : 'string' },
    ]),
  );
  const passed = read(words, options);
  const defaults = (await command.defaults?.(passed)) ?? {};
  const values: Record<string, string | boolean | undefined> = { ...passed };
  for (const [name, flag] of Object.entries(command.flags)) {
    const value = passed[name] ?? defaults[name] ?? undefined;
    if (value !== undefined) values[name] = value;
    const isRequired = flag.required === true && defaults[name] !== null;
    if (value !== undefined || !isRequired) checkValue(name, flag, value);
    else if (prompt === undefined || flag.question === undefined) {
      throw new UsageError(`--${name} is missing.`);
    } else {
      values[name] = await promptFor(flag, prompt).catch((error: unknown) => {
        throw new UsageError(`--${name} is missing.`, { cause: error });
      });
    }
  }
  return values;
}

function checkValue(name: string, flag: Flag, value: string | boolean | undefined): void {
  if (typeof value !== 'string') return;
  const problem = problemWith(flag, value);
  if (problem !== null) throw new UsageError(`--${name} ${problem}.`);
}

function problemWith(flag: Flag, value: string): string | null {
  return value.trim() === '' ? 'is empty' : (flag.check?.(value.trim()) ?? null);
}

/** Repeats the question until the value is valid. */
async function promptFor(flag: Flag, prompt: NonNullable<CommandIo['prompt']>): Promise<string> {
  const { about = '', example = '' } = flag.question ?? {};
  let text = `${about} Example: ${example}\n${flag.describe}: `;
  for (;;) {
    const value = await prompt(text);
    const problem = problemWith(flag, value);
    if (problem === null) return value;
    text = `This value ${problem}.\n${flag.describe}: `;
  }
}

function read(words: readonly string[], options: ParseArgsOptionsConfig): FlagValues {
  try {
    return parseArgs({ args: [...words], options, strict: true, allowPositionals: false })
      .values as FlagValues;
  } catch (error) {
    // Only the first sentence is about the argument; the rest explains Node's escapes.
    const [what = ''] = (error instanceof Error ? error.message : String(error)).split('. ');
    throw new UsageError(`${what}.`);
  }
}

/** For a flag that `parseFlags` has checked. */
export function requiredText(flags: FlagValues, name: string): string {
  const value = flags[name];
  if (typeof value !== 'string') throw new TypeError(`--${name} was not read as text.`);
  return value.trim();
}

export function optionalText(flags: FlagValues, name: string): string | undefined {
  const value = flags[name];
  return typeof value === 'string' ? value.trim() : undefined;
}

/** A list separated by commas. Its values are not printed, because the operator may have passed a secret. */
export function requiredList(
  flags: FlagValues,
  name: string,
  { isValid, expected }: { readonly isValid: (value: string) => boolean; readonly expected: string },
): readonly string[] {
  const text = optionalText(flags, name);
  if (text === undefined) throw new UsageError(`--${name} is missing.`);
  const values = text.split(',').map((value) => value.trim());
  if (!values.every(isValid)) throw new UsageError(`--${name} takes ${expected}.`);
  return values;
}

export function oneOf<const Choice extends string>(
  flags: FlagValues,
  name: string,
  choices: readonly Choice[],
): Choice {
  const value = requiredText(flags, name);
  const choice = choices.find((known) => known === value);
  if (choice === undefined)
    throw new UsageError(`--${name} is ${JSON.stringify(value)}; use ${choices.join(', ')}.`);
  return choice;
}

export function emailOf(flags: FlagValues): string {
  const email = requiredText(flags, 'email').toLowerCase();
  const problem = problemWithEmail(email);
  if (problem !== null) throw new UsageError(`--email ${problem}.`);
  return email;
}

export function problemWithEmail(email: string): string | null {
  if (/^[^\s@]+@[^\s@]+$/.test(email) && email.length <= 255) return null;
  return `is ${JSON.stringify(email)}, which is not an email address`;
}

export function usageOf(command: Command): string {
  const required = command.defaults === undefined ? ' (required)' : ' (required the first time)';
  const flags = Object.entries(command.flags).map(([name, flag]) => {
    const form = flag.value === undefined ? `--${name}` : `--${name} ${flag.value}`;
    return `  ${form.padEnd(28)}${flag.describe}${flag.required === true ? required : ''}`;
  });
  return [
    `millrace-admin ${command.name}: ${command.summary}`,
    ...(flags.length === 0 ? [] : ['', ...flags]),
    '',
    `Example: ${command.example}`,
    '',
  ].join('\n');
}
