import { parseArgs, type ParseArgsOptionsConfig } from 'node:util';
import type { CredentialSetting } from '@millrace/platform/config';
import type { NetGuard } from '@millrace/platform/net';
import type { DatabaseAccess, Db } from '@millrace/platform/db';

/** Output of a command. Tests pass their own. */
export interface CommandIo {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

export interface CommandContext extends CommandIo {
  readonly cell: number;
  /** Read on first use, because commands for NATS and Valkey need no database. */
  readonly postgres: () => DatabaseAccess;
  /** MILLRACE_NATS_PREFIX. */
  readonly natsPrefix: () => string;
  /** Opens the database on first use and checks its schema version. */
  readonly db: () => Promise<Db>;
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
}

export type FlagValues = Readonly<Record<string, string | boolean | undefined>>;

/** A command as data, from which help, parsing and checks are derived. */
export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly flags: Readonly<Record<string, Flag>>;
  readonly example: string;
  readonly run: (context: CommandContext, flags: FlagValues) => Promise<void>;
}

/** Invalid arguments: shown with the usage, exit code 2. */
export class UsageError extends Error {}

/** A valid command that was refused, with a reason that helps the user: exit code 1. */
export class CommandError extends Error {}

export function parseFlags(command: Command, words: readonly string[]): FlagValues {
  const options: ParseArgsOptionsConfig = Object.fromEntries(
    Object.entries(command.flags).map(([name, flag]) => [
      name,
      { type: flag.value === undefined ? 'boolean' : 'string' },
    ]),
  );
  const values = read(words, options);
  for (const [name, flag] of Object.entries(command.flags)) {
    const value = values[name];
    if (flag.required === true && value === undefined) throw new UsageError(`--${name} is missing.`);
    if (typeof value === 'string' && value.trim() === '') throw new UsageError(`--${name} is empty.`);
  }
  return values;
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
  if (!/^[^\s@]+@[^\s@]+$/.test(email) || email.length > 255) {
    throw new UsageError(`--email is ${JSON.stringify(email)}, which is not an email address.`);
  }
  return email;
}

export function usageOf(command: Command): string {
  const flags = Object.entries(command.flags).map(([name, flag]) => {
    const form = flag.value === undefined ? `--${name}` : `--${name} ${flag.value}`;
    return `  ${form.padEnd(28)}${flag.describe}${flag.required === true ? ' (required)' : ''}`;
  });
  return [
    `millrace-admin ${command.name}: ${command.summary}`,
    ...(flags.length === 0 ? [] : ['', ...flags]),
    '',
    `Example: ${command.example}`,
    '',
  ].join('\n');
}
