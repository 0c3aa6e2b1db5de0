import { DatabaseError } from 'pg';
import { ClockSkewError } from '../clock/index.ts';

const serializationFailure = '40001';
const deadlockDetected = '40P01';
const uniqueViolation = '23505';
const undefinedTable = '42P01';

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
  /^(?:timeout exceeded when trying to connect|Connection terminated due to connection timeout)/;

/** Whether a transaction failed before any change: others held a lock, or no connection was available in time. */
export function isContended(error: unknown): boolean {
  if (databaseError(error)?.code === '55P03') return true;
  return error instanceof Error && noConnection.test(error.message);
}

export function isUndefinedTable(error: unknown): boolean {
  return databaseError(error)?.code === undefinedTable;
}

/** Shutdown, startup, no connections, timeouts, and transactions whose retries were exhausted. */
const transientCodes: ReadonlySet<string> = new Set([
  '25P03',
  '53300',
  '55P03',
  '57014',
  '57P01',
  '57P02',
  '57P03',
  serializationFailure,
  deadlockDetected,
]);
const networkCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH']);
// The driver reports these errors without a code. The last is a statement on a connection that broke before.
const lostConnection =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/;

/** Whether the database is temporarily unable to work, or the process clock is too wrong to write. */
export function isUnavailable(error: unknown): boolean {
  const code = databaseError(error)?.code;
  if (code !== undefined) return transientCodes.has(code) || code.startsWith('08');
  if (error instanceof ClockSkewError) return true;
  if (!(error instanceof Error)) return false;
  const networkCode = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return networkCodes.has(networkCode) || lostConnection.test(error.message);
}
