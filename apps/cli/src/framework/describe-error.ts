import { adviceByReason } from './advice.ts';
import type { Command } from './command.ts';
import { CancelledError, CliError, SilentExit, UsageError } from './errors.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import type { Profile } from './profiles.ts';
import { safeText } from './text.ts';

/** A failure as it is shown: three lines and the request id. */
export interface ErrorDescription {
  readonly what: string;
  readonly why?: string | undefined;
  readonly fix?: string | undefined;
  readonly requestId?: string | undefined;
  readonly exitCode: number;
  /** Nothing is to be said: the command has spoken for itself. */
  readonly silent?: true;
}

/**
 * The SDK's errors are known by their shape rather than by their class, so that showing an error does not load the client.
 */
interface ApiErrorShape extends Error {
  readonly status: number;
  readonly reason?: string | null;
  readonly suggestion?: string | null;
  readonly requestId?: string | null;
  readonly issues?: readonly { readonly path?: unknown; readonly message?: unknown }[];
}

function isApiError(error: unknown): error is ApiErrorShape {
  return error instanceof Error && 'status' in error && typeof error.status === 'number';
}

const hasErrorName = (error: unknown, name: string): error is Error =>
  error instanceof Error && error.name === name;

const fundsReasons = new Set([
  'INSUFFICIENT_BALANCE',
  'BUDGET_EXCEEDED',
  'MAX_USD_EXCEEDED',
  'ACCOUNT_FROZEN',
]);

const keyReasons = new Set(['MALFORMED_API_KEY', 'INVALID_API_KEY', 'API_KEY_EXPIRED', 'API_KEY_REVOKED']);
const environmentKeyAdvice =
  'The key is that of MILLRACE_API_KEY, which comes before every profile: set another, or unset it.';

const capacityReasons = new Set([
  'INSUFFICIENT_CAPACITY',
  'GPU_COUNT_EXCEEDS_AVAILABLE',
  'MACHINE_NOT_READY',
]);

export function exitCodeOf({ status, reason }: Pick<ApiErrorShape, 'status' | 'reason'>): ExitCode {
  // The interface answers some refusals with 400 that elsewhere have a status of their own; the reason says which it is.
  if (reason != null) {
    if (fundsReasons.has(reason)) return exitCodes.insufficientFunds;
    if (capacityReasons.has(reason)) return exitCodes.noCapacity;
    if (reason.endsWith('_NOT_FOUND')) return exitCodes.notFound;
    if (reason === 'VALIDATION_FAILED') return exitCodes.usage;
  }
  if (status === 402) return exitCodes.insufficientFunds;
  if (status === 401 || status === 403) return exitCodes.auth;
  if (status === 404 || status === 410) return exitCodes.notFound;
  return exitCodes.failure;
}

export interface DescribeOptions {
  readonly command: Command | undefined;
  readonly profile: Pick<Profile, 'apiUrl' | 'keyFrom'> | undefined;
  readonly interrupted: boolean;
  /** Something else than a question was sent to the API. */
  readonly hasSentChange?: boolean;
}

export function describeError(error: unknown, options: DescribeOptions): ErrorDescription {
  const { command, profile, interrupted, hasSentChange = false } = options;
  const apiUrl = profile?.apiUrl;
  const failed = ensureFullStop(
    command?.failure ?? (command === undefined ? 'That failed' : `millrace ${command.name} failed`),
  );
  const helpCommand = command === undefined ? 'millrace help' : `millrace help ${command.name}`;
  if (error instanceof SilentExit) return { what: '', exitCode: error.exitCode, silent: true };
  if (error instanceof CancelledError) return { what: error.message, exitCode: error.exitCode };
  if (interrupted && isAbort(error)) {
    return {
      what: 'Cancelled. What was already asked of the API may have happened.',
      exitCode: exitCodes.cancelled,
    };
  }
  if (error instanceof CliError) {
    const fix = error.fix ?? (error instanceof UsageError ? helpCommand : undefined);
    return { what: error.message, why: error.why, fix, exitCode: error.exitCode };
  }
  if (isApiError(error)) return describeApiError(error, failed, { command, profile, helpCommand });
  if (hasErrorName(error, 'TimeoutError')) {
    return {
      what: failed,
      why: `The API at ${apiUrl ?? 'its address'} did not answer in time.`,
      fix: hasSentChange ? checkFirstAdvice : 'Run the same command again; see what is asked with --debug.',
      exitCode: exitCodes.failure,
    };
  }
  if (hasErrorName(error, 'ConnectionError')) {
    const mayHaveHappened = hasSentChange && !neverSentCodes.has(causeCodeOf(error));
    return {
      what: failed,
      why: `The API at ${apiUrl ?? 'its address'} cannot be reached${causeOf(error)}.`,
      fix: mayHaveHappened
        ? checkFirstAdvice
        : 'Check the address, or name another with --api-url: millrace profile list',
      exitCode: exitCodes.failure,
    };
  }
  if (hasErrorName(error, 'StreamInterruptedError')) {
    return {
      what: failed,
      why: error.message,
      fix: 'What came so far is not all of it. Run the command again.',
      exitCode: exitCodes.failure,
    };
  }
  if (isFileError(error)) {
    return { what: failed, why: ensureFullStop(error.message), fix: helpCommand, exitCode: exitCodes.usage };
  }
  return {
    what: failed,
    why: `Something happened that this program did not expect: ${messageOf(error)}`,
    fix: 'Run it again with --debug, and report what that shows.',
    exitCode: exitCodes.failure,
  };
}

const checkFirstAdvice =
  'It may have happened all the same: see whether it did before you run the command again.';
/** No connection came about, so nobody can have begun to work. */
const neverSentCodes: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

/** A file that was named and could not be read, as Node tells it. */
function isFileError(error: unknown): error is Error {
  return error instanceof Error && 'path' in error && 'syscall' in error;
}

/** Ends with a full stop, whether whoever wrote it thought of one or not. */
function ensureFullStop(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function describeApiError(
  error: ApiErrorShape,
  failed: string,
  {
    command,
    profile,
    helpCommand,
  }: Pick<DescribeOptions, 'command' | 'profile'> & { readonly helpCommand: string },
): ErrorDescription {
  const { reason } = error;
  // To log in changes nothing while the environment has a key; login itself does not use that one.
  const isKeyOfEnvironment = profile?.keyFrom === 'environment' && command?.name !== 'login';
  const fix =
    (isKeyOfEnvironment && reason != null && keyReasons.has(reason) ? environmentKeyAdvice : undefined) ??
    (reason == null
      ? undefined
      : (ownProperty(command?.advice, reason) ?? ownProperty(adviceByReason, reason))) ??
    (reason === 'VALIDATION_FAILED' ? inputAdvice(error, helpCommand) : undefined) ??
    error.suggestion ??
    (error.status >= 500 ? 'Try again in a moment; if it stays, report the request id.' : helpCommand);
  return {
    what: reason == null ? failed : `${failed.replace(/\.$/, '')} (${reason}).`,
    why: [ensureFullStop(error.message), ...issuesOf(error)].join(' '),
    fix,
    requestId: error.requestId ?? undefined,
    exitCode: exitCodeOf(error),
  };
}

/** What the API says of fields is said of flags by the help; only a word that it takes for a slip of the finger is of use. */
function inputAdvice({ suggestion }: ApiErrorShape, helpCommand: string): string {
  return suggestion?.startsWith('Did you mean ') === true ? `${suggestion} See ${helpCommand}` : helpCommand;
}

/** A reason is whatever the other side wrote, and might be the name of something that every object has. */
function ownProperty(advice: Readonly<Record<string, string>> = {}, reason: string): string | undefined {
  return Object.hasOwn(advice, reason) ? advice[reason] : undefined;
}

/** Which fields were wrong, for as many as fit a line; not what the message says already. */
function issuesOf({ issues, message: text }: ApiErrorShape): readonly string[] {
  const news = (issues ?? []).filter(({ message }) => typeof message !== 'string' || !text.includes(message));
  return news.slice(0, 3).map(({ path, message }) => {
    const where = Array.isArray(path) ? path.join('.') : typeof path === 'string' ? path : '';
    return ensureFullStop(
      `${where === '' ? '' : `${where}: `}${typeof message === 'string' ? message : 'not accepted'}`,
    );
  });
}

function isAbort(error: unknown): boolean {
  return hasErrorName(error, 'AbortError') || hasErrorName(error, 'AbortedError');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/** `fetch` wraps what happened to the connection once or twice; the code is in the innermost that has one. */
function causeCodeOf(error: Error): unknown {
  let code: unknown;
  let cause: unknown = error.cause;
  for (let depth = 0; depth < 5 && typeof cause === 'object' && cause !== null; depth += 1) {
    if ('code' in cause) code = cause.code;
    cause = 'cause' in cause ? cause.cause : undefined;
  }
  return code;
}

function causeOf(error: Error): string {
  const code = causeCodeOf(error);
  if (code === 'ECONNREFUSED') return ': nothing listens there';
  if (code === 'ENOTFOUND') return ': that name is not known';
  if (code === 'EAI_AGAIN') return ': its name could not be looked up';
  return typeof code === 'string' ? `: ${code}` : '';
}

/** What failed, why, what to do; the request id last. */
export function renderError(described: ErrorDescription, paint: (text: string) => string): string {
  const lines = [
    `${paint('Error:')} ${safeText(described.what)}`,
    ...(described.why === undefined ? [] : [`  Why: ${safeText(described.why)}`]),
    ...(described.fix === undefined ? [] : [`  Try: ${safeText(described.fix)}`]),
    ...(described.requestId === undefined ? [] : [`  Request: ${safeText(described.requestId)}`]),
  ];
  return `${lines.join('\n')}\n`;
}
