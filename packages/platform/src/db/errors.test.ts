import { DatabaseError } from 'pg';
import { expect, test } from 'vitest';
import { isContended, isRetryable, isUnavailable } from './errors.ts';

function databaseError(code: string, constraint?: string): DatabaseError {
  const error = new DatabaseError('x', 1, 'error');
  error.code = code;
  error.constraint = constraint;
  return error;
}

test.each([
  ['a serialization failure', databaseError('40001'), true],
  ['a deadlock', databaseError('40P01'), true],
  ['a duplicate of a row that is created once', databaseError('23505', 'ledger_transfers_once'), true],
  ['another duplicate', databaseError('23505', 'users_email_key'), false],
  ['a duplicate of an unnamed constraint', databaseError('23505'), false],
  ['a check with the same name', databaseError('23514', 'ledger_transfers_once'), false],
  ['a lost connection', databaseError('08006'), false],
])('isRetryable classifies %s', (_name, error, retryable) => {
  expect(isRetryable(error)).toBe(retryable);
});

test.each([
  ['a lock that others hold', databaseError('55P03'), true],
  ['a pool without a free connection', new Error('timeout exceeded when trying to connect'), true],
  ['a connection that took too long', new Error('Connection terminated due to connection timeout'), true],
  // The transaction may have committed.
  ['a connection that broke', new Error('Connection terminated unexpectedly'), false],
])('isContended classifies %s', (_name, error, contended) => {
  expect(isContended(error)).toBe(contended);
});

test.each([
  ['an administrator ended the session', databaseError('57P01'), true],
  ['the server starts up', databaseError('57P03'), true],
  ['no connections left', databaseError('53300'), true],
  ['the statement ran out of time', databaseError('57014'), true],
  ['a connection exception', databaseError('08006'), true],
  ['retries were used up', databaseError('40001'), true],
  ['no listener', Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), true],
  ['the connection broke', new Error('Connection terminated unexpectedly'), true],
  ['a duplicate', databaseError('23505'), false],
  ['a wrong statement', databaseError('42601'), false],
  ['a bug of ours', new TypeError('x is undefined'), false],
  ['a value that is not an error', 'Connection terminated', false],
])('isUnavailable classifies %s', (_name, error, unavailable) => {
  expect(isUnavailable(error)).toBe(unavailable);
});
