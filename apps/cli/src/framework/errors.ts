import { exitCodes, type ExitCode } from './exit-codes.ts';

/**
 * A failure in the three lines a person needs: what failed, why, and what to do, with a command where there is one.
 * Anything else that is thrown is a defect of ours and says so.
 */
export class CliError extends Error {
  override readonly name: string = 'CliError';
  readonly why: string | undefined;
  readonly fix: string | undefined;
  readonly exitCode: ExitCode;

  constructor(
    what: string,
    options: {
      readonly why?: string;
      readonly fix?: string;
      readonly exitCode?: ExitCode;
      readonly cause?: unknown;
    } = {},
  ) {
    super(what, options.cause === undefined ? undefined : { cause: options.cause });
    this.why = options.why;
    this.fix = options.fix;
    this.exitCode = options.exitCode ?? exitCodes.failure;
  }
}

/** What was typed makes no sense. `fix` defaults to the help of the command. */
export class UsageError extends CliError {
  override readonly name = 'UsageError';

  constructor(why: string, options: { readonly fix?: string } = {}) {
    super('That command line does not work.', { why, exitCode: exitCodes.usage, ...options });
  }
}

/** The person changed their mind: Ctrl-C, or "no". */
export class CancelledError extends CliError {
  override readonly name = 'CancelledError';

  constructor(what = 'Cancelled. Nothing was changed.') {
    super(what, { exitCode: exitCodes.cancelled });
  }
}

/** The command did its work and what it found is a failure; it has said so itself. */
export class SilentExit extends Error {
  override readonly name = 'SilentExit';
  /** One of ours, or that of a program that was started. */
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`exit code ${String(exitCode)}`);
    this.exitCode = exitCode;
  }
}

export class NotLoggedInError extends CliError {
  override readonly name = 'NotLoggedInError';

  constructor(profile: { readonly name: string; readonly apiUrl: string; readonly isStored: boolean }) {
    super('You are not logged in.', { ...whyNotLoggedIn(profile), exitCode: exitCodes.auth });
  }
}

function whyNotLoggedIn({
  name,
  apiUrl,
  isStored,
}: {
  readonly name: string;
  readonly apiUrl: string;
  readonly isStored: boolean;
}): { readonly why: string; readonly fix: string } {
  const unset = 'and MILLRACE_API_KEY is not set.';
  if (isStored) {
    return {
      why: `Profile "${name}" keeps a key for another address than ${apiUrl}, ${unset}`,
      fix: `Keep one for it beside that: millrace login --profile NAME --api-url ${apiUrl}`,
    };
  }
  if (name === 'default') return { why: `Profile "${name}" keeps no key, ${unset}`, fix: 'millrace login' };
  return {
    why: `There is no profile "${name}", ${unset}`,
    fix: `See those that there are, or make it: millrace profile list, millrace login --profile ${name}`,
  };
}

/** A secret is told once. When that answer is lost and the call sent again, the second answer can only say that it happened. */
export function lostSecretError(what: string, fix: string): CliError {
  return new CliError(`${what}, but its secret was lost on the way here.`, {
    why: 'The first answer did not arrive, and a secret is told once only.',
    fix,
  });
}
