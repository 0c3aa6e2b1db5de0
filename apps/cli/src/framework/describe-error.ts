import { adviceByReason } from './advice.ts';
import type { Command } from './command.ts';
import { CancelledError, CliError, SilentExit, UsageError } from './errors.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import type { Profile } from './profiles.ts';
import { safeText } from './text.ts';

/** An error as the user sees it: up to three lines and the request id. */
export interface ErrorDescription {
  readonly what: string;
  readonly why?: string | undefined;
  readonly fix?: string | undefined;
  readonly requestId?: string | undefined;
  readonly exitCode: number;
  /** Print nothing: the command has already printed the failure. */
  readonly silent?: true;
}

/** SDK errors are detected by shape, not by class, so that printing an error does not load the client. */
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
  'The key comes from MILLRACE_API_KEY, which overrides all profiles. Set another key, or unset it.';

const capacityReasons = new Set([
  'INSUFFICIENT_CAPACITY',
  'GPU_COUNT_EXCEEDS_AVAILABLE',
  'MACHINE_NOT_READY',
]);

export function exitCodeOf({ status, reason }: Pick<ApiErrorShape, 'status' | 'reason'>): ExitCode {
  // Baseline operations respond with 400 where others have a more specific status, so the reason decides first.
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
  /** A request other than GET was sent to the API. */
  readonly hasSentChange?: boolean;
}

export function describeError(error: unknown, options: DescribeOptions): ErrorDescription {
  const { command, profile, interrupted, hasSentChange = false } = options;
  const apiUrl = profile?.apiUrl;
  const failed = ensureFullStop(
    command?.failure ?? (command === undefined ? 'The command failed' : `millrace ${command.name} failed`),
  );
  const helpCommand = command === undefined ? 'millrace help' : `millrace help ${command.name}`;
  if (error instanceof SilentExit) return { what: '', exitCode: error.exitCode, silent: true };
  if (error instanceof CancelledError) return { what: error.message, exitCode: error.exitCode };
  if (interrupted && isAbort(error)) {
    return {
      what: 'Cancelled. Requests that were already sent may have taken effect.',
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
      why: `The API at ${apiUrl ?? 'its address'} did not respond in time.`,
      fix: hasSentChange ? checkFirstAdvice : 'Run the command again. Use --debug to see its requests.',
      exitCode: exitCodes.failure,
    };
  }
  if (hasErrorName(error, 'ConnectionError')) {
    const mayHaveHappened = hasSentChange && !neverSentCodes.has(causeCodeOf(error));
    return {
      what: failed,
      why: `The API at ${apiUrl ?? 'its address'} is unreachable${causeOf(error)}.`,
      fix: mayHaveHappened
        ? checkFirstAdvice
        : 'Check that the API is running at this address, or set another with --api-url: millrace profile list',
      exitCode: exitCodes.failure,
    };
  }
  if (hasErrorName(error, 'StreamInterruptedError')) {
    return {
      what: failed,
      why: error.message,
      fix: 'The output is incomplete. Run the command again.',
      exitCode: exitCodes.failure,
    };
  }
  if (isFileError(error)) {
    return { what: failed, why: ensureFullStop(error.message), fix: helpCommand, exitCode: exitCodes.usage };
  }
  return {
    what: failed,
    why: `An unexpected error occurred: ${messageOf(error)}`,
    fix: 'Run the command again with --debug and report the output.',
    exitCode: exitCodes.failure,
  };
}

const checkFirstAdvice = 'The change may have taken effect. Check before you run the command again.';
/** The connection was never established, so the server did not get the request. */
const neverSentCodes: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

/** An error of Node for a file that could not be read or written. */
function isFileError(error: unknown): error is Error {
  return error instanceof Error && 'path' in error && 'syscall' in error;
}

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
  // Logging in does not help while the environment has a key; only login itself ignores that key.
  const isKeyOfEnvironment = profile?.keyFrom === 'environment' && command?.name !== 'login';
  const fix =
    (isKeyOfEnvironment && reason != null && keyReasons.has(reason) ? environmentKeyAdvice : undefined) ??
    (reason == null
      ? undefined
      : (ownProperty(command?.advice, reason) ?? ownProperty(adviceByReason, reason))) ??
    (reason === 'VALIDATION_FAILED' ? inputAdvice(error, helpCommand) : undefined) ??
    error.suggestion ??
    (error.status >= 500
      ? 'Try again in a moment. If the error persists, report the request id.'
      : helpCommand);
  return {
    what: reason == null ? failed : `${failed.replace(/\.$/, '')} (${reason}).`,
    why: [ensureFullStop(error.message), ...issuesOf(error)].join(' '),
    fix,
    requestId: error.requestId ?? undefined,
    exitCode: exitCodeOf(error),
  };
}

/** The help names flags, the API names fields, so only a spelling suggestion of the API is worth showing. */
function inputAdvice({ suggestion }: ApiErrorShape, helpCommand: string): string {
  return suggestion?.startsWith('Did you mean ') === true ? `${suggestion} See ${helpCommand}` : helpCommand;
}

/** The server chooses the reason, so it might be the name of an inherited property. */
function ownProperty(advice: Readonly<Record<string, string>> = {}, reason: string): string | undefined {
  return Object.hasOwn(advice, reason) ? advice[reason] : undefined;
}

/** Up to three invalid fields, without those that the message already names. */
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

/** `fetch` wraps connection errors; the innermost error has the code. */
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
  if (code === 'ECONNREFUSED') return ': no server listens there';
  if (code === 'ENOTFOUND') return ': the host name does not exist';
  if (code === 'EAI_AGAIN') return ': the host name could not be resolved';
  return typeof code === 'string' ? `: ${code}` : '';
}

export function renderError(described: ErrorDescription, paint: (text: string) => string): string {
  const lines = [
    `${paint('Error:')} ${safeText(described.what)}`,
    ...(described.why === undefined ? [] : [`  Why: ${safeText(described.why)}`]),
    ...(described.fix === undefined ? [] : [`  Try: ${safeText(described.fix)}`]),
    ...(described.requestId === undefined ? [] : [`  Request: ${safeText(described.requestId)}`]),
  ];
  return `${lines.join('\n')}\n`;
}
