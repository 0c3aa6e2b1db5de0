import { DatabaseError } from 'pg';

const serializationFailure = '40001';
const deadlockDetected = '40P01';
const uniqueViolation = '23505';

function databaseError(error: unknown): DatabaseError | undefined {
  return error instanceof DatabaseError ? error : undefined;
}

/**
 * Whether PostgreSQL undid the transaction only because of others running at the same time, so that the same
 * work may succeed when run again. A lost connection is not: the commit may have happened.
 */
export function isRetryable(error: unknown): boolean {
  const code = databaseError(error)?.code;
  return code === serializationFailure || code === deadlockDetected;
}

/** Whether a row with this key existed already. Name the constraint: a table may have several. */
export function isUniqueViolation(error: unknown, constraint: string): boolean {
  const found = databaseError(error);
  return found?.code === uniqueViolation && found.constraint === constraint;
}
