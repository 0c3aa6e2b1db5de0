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
 * Whether PostgreSQL undid the transaction only because of others running at the same time, so that the same
 * work may succeed when run again. A lost connection is not: the commit may have happened. A unique constraint whose
 * name ends in `_once` says that a row is made once by whoever comes first: its writers look before they write, so a
 * violation means that another came in between, and the next look finds that row.
 */
export function isRetryable(error: unknown): boolean {
  const found = databaseError(error);
  if (found?.code === uniqueViolation) return found.constraint?.endsWith('_once') ?? false;
  return found?.code === serializationFailure || found?.code === deadlockDetected;
}

/** Whether a row with this key existed already. Name the constraint: a table may have several. */
export function isUniqueViolation(error: unknown, constraint: string): boolean {
  const found = databaseError(error);
  return found?.code === uniqueViolation && found.constraint === constraint;
}

/** Whether what was written is refused as it is: a value that fits no column, or that a constraint forbids. */
export function isDataError(error: unknown): boolean {
  const code = databaseError(error)?.code;
  return code !== undefined && (code.startsWith('22') || code.startsWith('23'));
}

/** Whether a statement waited too long for a lock or ran too long: others may hold what it needs while the database works. */
export function isStatementTimeout(error: unknown): boolean {
  const code = databaseError(error)?.code;
  return code === '55P03' || code === '57014';
}

/** How the pool says that it got no connection in time: all were in use, or a new one took too long. No transaction had begun. */
const noConnection =
  /^(?:timeout exceeded when trying to connect|Connection terminated due to connection timeout)/;

/** Whether a transaction was given up before it changed anything: others held a lock, or there was no connection in time. */
export function isContended(error: unknown): boolean {
  if (databaseError(error)?.code === '55P03') return true;
  return error instanceof Error && noConnection.test(error.message);
}

/** Whether a statement named a table that is not there. */
export function isUndefinedTable(error: unknown): boolean {
  return databaseError(error)?.code === undefinedTable;
}

/** Shutting down, starting up, out of connections, out of time, idle for too long, or given up after retries. */
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
// The driver reports these without a code. The last is a statement on a connection that broke before it.
const lostConnection =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/;

/**
 * Whether the database could not be reached or would not work just now, through no fault of the statement, or must not be
 * written to while the clock of this process is wrong.
 */
export function isUnavailable(error: unknown): boolean {
  const code = databaseError(error)?.code;
  if (code !== undefined) return transientCodes.has(code) || code.startsWith('08');
  if (error instanceof ClockSkewError) return true;
  if (!(error instanceof Error)) return false;
  const networkCode = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return networkCodes.has(networkCode) || lostConnection.test(error.message);
}
