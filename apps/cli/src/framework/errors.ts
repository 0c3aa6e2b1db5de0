import { exitCodes, type ExitCode } from './exit-codes.ts';

/** An error for users: what failed, why, and what to do. Any other thrown error is a defect of the CLI. */
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

/** Invalid arguments. The message names the wrong word; `fix` defaults to the help of the command. */
export class UsageError extends CliError {
  override readonly name = 'UsageError';

  constructor(problem: string, options: { readonly fix?: string } = {}) {
    super(problem, { exitCode: exitCodes.usage, ...options });
  }
}

/** The user cancelled: Ctrl-C, or "no" to a question. */
export class CancelledError extends CliError {
  override readonly name = 'CancelledError';

  constructor(what = 'Cancelled. Nothing was changed.') {
    super(what, { exitCode: exitCodes.cancelled });
  }
}

/** The command ran and printed a failure itself. */
export class SilentExit extends Error {
  override readonly name = 'SilentExit';
  /** An exit code of the CLI, or of a program that it started. */
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
      why: `Profile "${name}" has a key for another address than ${apiUrl}, ${unset}`,
      fix: `Save a key for this address in another profile: millrace login --profile NAME --api-url ${apiUrl}`,
    };
  }
  if (name === 'default') return { why: `Profile "${name}" has no key, ${unset}`, fix: 'millrace login' };
  return {
    why: `There is no profile "${name}", ${unset}`,
    fix: `List the profiles, or create this one: millrace profile list, millrace login --profile ${name}`,
  };
}

/** A secret is returned once. If that response is lost, the retry returns the result without the secret. */
export function lostSecretError(what: string, fix: string): CliError {
  return new CliError(`${what}, but the response with its secret was lost.`, {
    why: 'The first response did not arrive, and a secret is shown only once.',
    fix,
  });
}
