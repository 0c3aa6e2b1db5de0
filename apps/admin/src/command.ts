import { parseArgs, type ParseArgsOptionsConfig } from 'node:util';
import type { CredentialSetting } from '@millrace/platform/config';
import type { NetGuard } from '@millrace/platform/net';
import type { Db } from '@millrace/platform/db';

/** Where a command speaks to and what it works on. Tests hand in their own. */
export interface CommandIo {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

export interface CommandContext extends CommandIo {
  readonly cell: number;
  readonly postgresUrl: string;
  /** Opens the database at its first use and checks that its schema is the one this release knows. */
  readonly db: () => Promise<Db>;
  /** What is needed to speak to engines, read at its first use: most commands need none of it. */
  readonly fleet: () => {
    readonly credentials: Readonly<Record<string, CredentialSetting>>;
    readonly guard: NetGuard;
  };
}

export interface Flag {
  readonly describe: string;
  /** What stands for the value in help; absent for a flag that is either there or not. */
  readonly value?: string;
  readonly required?: true;
}

export type FlagValues = Readonly<Record<string, string | boolean | undefined>>;

/** A command as data: help, parsing and checking all come from it. */
export interface Command {
  /** As typed: `key create`. */
  readonly name: string;
  readonly summary: string;
  readonly flags: Readonly<Record<string, Flag>>;
  readonly example: string;
  readonly run: (context: CommandContext, flags: FlagValues) => Promise<void>;
}

/** What the person typed makes no sense; told with the usage and exit code 2. */
export class UsageError extends Error {}

/** Understood and refused, or looked for and found, for a reason the person can act on; exit code 1. */
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
    // Node goes on to explain its own escapes; only the first sentence is about what was typed.
    const [what = ''] = (error instanceof Error ? error.message : String(error)).split('. ');
    throw new UsageError(`${what}.`);
  }
}

/** A flag that `parseFlags` has seen to be there. */
export function requiredText(flags: FlagValues, name: string): string {
  const value = flags[name];
  if (typeof value !== 'string') throw new TypeError(`--${name} was not read as text.`);
  return value.trim();
}

export function optionalText(flags: FlagValues, name: string): string | undefined {
  const value = flags[name];
  return typeof value === 'string' ? value.trim() : undefined;
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
    return `  ${form.padEnd(28)}${flag.describe}${flag.required === true ? ' (needed)' : ''}`;
  });
  return [
    `millrace-admin ${command.name}: ${command.summary}`,
    ...(flags.length === 0 ? [] : ['', ...flags]),
    '',
    `Example: ${command.example}`,
    '',
  ].join('\n');
}
