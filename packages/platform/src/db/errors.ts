import { DatabaseError } from 'pg';
import { ClockSkewError } from '../clock/index.ts';
import { ConnectionRefusedError } from './connection-problem.ts';
import { NoWritableServerError } from './servers/server-choice.ts';

const serializationFailure = '40001';
const deadlockDetected = '40P01';
const uniqueViolation = '23505';
const undefinedTable = '42P01';
const readOnlyTransaction = '25006';

function databaseError(error: unknown): DatabaseError | undefined {
  return error instanceof DatabaseError ? error : undefined;
}

/**
 * Whether PostgreSQL rolled the transaction back only because of concurrent transactions, so that a retry may succeed.
 * A lost connection does not count: the commit may have happened. A unique constraint whose name ends in `_once` is for
 * rows that are created once: its writers read before they write, so after a violation the retry finds the row.
 */
export function isRetryable(error: unknown): boolean {
  const found = databaseError(error);
  if (found?.code === uniqueViolation) return found.constraint?.endsWith('_once') ?? false;
  return found?.code === serializationFailure || found?.code === deadlockDetected;
}

/** Whether the key existed already. Requires the constraint, because a table may have several. */
export function isUniqueViolation(error: unknown, constraint: string): boolean {
  const found = databaseError(error);
  return found?.code === uniqueViolation && found.constraint === constraint;
}

/** Whether PostgreSQL rejected the data: a value does not fit its column or violates a constraint. */
export function isDataError(error: unknown): boolean {
  const code = databaseError(error)?.code;
  return code !== undefined && (code.startsWith('22') || code.startsWith('23'));
}

/** Whether a statement waited for a lock or ran longer than its timeout. The database itself may be healthy. */
export function isStatementTimeout(error: unknown): boolean {
  const code = databaseError(error)?.code;
  return code === '55P03' || code === '57014';
}

/** The pool's messages when no connection was available in time. No transaction had begun. */
const noConnection =
  /^(?:timeout exceeded when trying to connect|timeout expired|Connection terminated due to connection timeout)/;

/** Whether a transaction failed before any change: others held a lock, or no connection was available in time. */
export function isContended(error: unknown): boolean {
  if (databaseError(error)?.code === '55P03') return true;
  return error instanceof Error && noConnection.test(error.message);
}

export function isUndefinedTable(error: unknown): boolean {
  return databaseError(error)?.code === undefinedTable;
}

/** Whether the server does not accept writes. It is a standby, or became one. */
export function isReadOnlyServer(error: unknown): boolean {
  return databaseError(error)?.code === readOnlyTransaction;
}

/** COMMIT was sent, and its result is unknown. The caller repeats its request with the same idempotency key. */
export class UnknownCommitError extends Error {
  constructor(reason: string, cause?: unknown) {
    super(`It is not known whether the transaction was committed: ${reason}.`, { cause });
    this.name = 'UnknownCommitError';
  }
}

/** Errors after which the server may have written the commit: it stopped, crashed or lacked a resource. */
const codesOfUnknownCommits = ['08', '53', '57P', '58', 'XX'];
/** The driver did not send the statement, because the connection was lost or closed before. */
const notSent = /is not queryable$/;

/** Whether COMMIT failed in a way that excludes that it happened. */
export function isCertainlyNotCommitted(error: unknown): boolean {
  const code = databaseError(error)?.code;
  if (code !== undefined) return !codesOfUnknownCommits.some((prefix) => code.startsWith(prefix));
  return error instanceof Error && notSent.test(error.message);
}

/** Statements that waited too long, and transactions whose retries were exhausted. */
const transientCodes: ReadonlySet<string> = new Set([
  '25P03',
  '55P03',
  '57014',
  readOnlyTransaction,
  serializationFailure,
  deadlockDetected,
]);
/** Lost connections; too few connections, memory or disk space; shutdown and start. */
const transientClasses = ['08', '53', '57P'];
const networkCodes = new Set([
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  // The name of the server may be absent during a failover.
  'EAI_AGAIN',
  'ENOTFOUND',
]);
// The driver reports these errors without a code. The last two are statements on a connection that broke before.
const lostConnection =
  /^(Connection terminated|timeout e|Client has encountered a connection error|Client was closed)/;

function isNetworkError(error: Error): boolean {
  const networkCode = 'code' in error && typeof error.code === 'string' ? error.code : '';
  // The socket file of a server is absent while it restarts.
  const isSocketAbsent = networkCode === 'ENOENT' && 'syscall' in error && error.syscall === 'connect';
  return isSocketAbsent || networkCodes.has(networkCode) || lostConnection.test(error.message);
}

/** Whether the database is temporarily unable to work, or the process clock is too wrong to write. */
export function isUnavailable(error: unknown): boolean {
  const code = databaseError(error)?.code;
  if (code !== undefined) {
    return transientCodes.has(code) || transientClasses.some((prefix) => code.startsWith(prefix));
  }
  if (!(error instanceof Error)) return false;
  return (
    error instanceof ClockSkewError ||
    error instanceof UnknownCommitError ||
    error instanceof ConnectionRefusedError ||
    error instanceof NoWritableServerError ||
    isNetworkError(error)
  );
}

/**
 * Whether the transaction lost its connection or met a standby before COMMIT was sent. PostgreSQL then rolled it back, so
 * another connection may repeat it. Exhausted resources do not count: an immediate repetition would add to them.
 */
export function isLostBeforeCommit(error: unknown): boolean {
  const code = databaseError(error)?.code;
  if (code !== undefined)
    return code === readOnlyTransaction || code.startsWith('08') || code.startsWith('57P');
  if (error instanceof NoWritableServerError) return true;
  return error instanceof Error && !isContended(error) && isNetworkError(error);
}
