import { DatabaseError } from 'pg';
import { expect, test } from 'vitest';
import { isUnavailable } from './errors.ts';

function databaseError(code: string): DatabaseError {
  const error = new DatabaseError('x', 1, 'error');
  error.code = code;
  return error;
}

test.each([
  ['an administrator ended the session', databaseError('57P01'), true],
  ['the server starts up', databaseError('57P03'), true],
  ['no connections left', databaseError('53300'), true],
  ['the statement ran out of time', databaseError('57014'), true],
  ['a connection exception', databaseError('08006'), true],
  ['retries were used up', databaseError('40001'), true],
  ['nobody listens', Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), true],
  ['the connection broke', new Error('Connection terminated unexpectedly'), true],
  ['a duplicate', databaseError('23505'), false],
  ['a wrong statement', databaseError('42601'), false],
  ['a bug of ours', new TypeError('x is undefined'), false],
  ['no error at all', 'Connection terminated', false],
])('%s', (_name, error, unavailable) => {
  expect(isUnavailable(error)).toBe(unavailable);
});
