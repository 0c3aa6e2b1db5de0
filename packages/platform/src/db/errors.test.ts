import { DatabaseError } from 'pg';
import { expect, test } from 'vitest';
import {
  UnknownCommitError,
  isCertainlyNotCommitted,
  isContended,
  isLostBeforeCommit,
  isRetryable,
  isUnavailable,
} from './errors.ts';
import { ConnectionRefusedError } from './connection-problem.ts';
import { NoWritableServerError } from './servers/server-choice.ts';

const unknownCommit = new UnknownCommitError('x', databaseError('57P01'));
const noServer = new NoWritableServerError(['a: x'], null);
const refused = new ConnectionRefusedError('x', '28P01', new Error('x'));

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
  ['a server that became a standby', databaseError('25006'), true],
  ['no disk space', databaseError('53100'), true],
  ['no memory', databaseError('53200'), true],
  ['a commit of unknown result', unknownCommit, true],
  ['no writable server', noServer, true],
  ['a refused password', refused, true],
  ['a duplicate', databaseError('23505'), false],
  ['a wrong statement', databaseError('42601'), false],
  ['a missing right', databaseError('42501'), false],
  ['a bug of ours', new TypeError('x is undefined'), false],
  ['a value that is not an error', 'Connection terminated', false],
])('isUnavailable classifies %s', (_name, error, unavailable) => {
  expect(isUnavailable(error)).toBe(unavailable);
});

test.each([
  ['a server that became a standby', databaseError('25006'), true],
  ['an administrator ended the session', databaseError('57P01'), true],
  ['the server starts up', databaseError('57P03'), true],
  ['no listener', Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), true],
  ['the connection broke', new Error('Connection terminated unexpectedly'), true],
  ['a statement on a closed connection', new Error('Client was closed and is not queryable'), true],
  ['no writable server', noServer, true],
  // To wait again for a connection would prolong the overload.
  ['a full pool', new Error('timeout exceeded when trying to connect'), false],
  ['no disk space', databaseError('53100'), false],
  ['no memory', databaseError('53200'), false],
  ['a commit of unknown result', unknownCommit, false],
  ['a refused password', refused, false],
  ['a statement that ran out of time', databaseError('57014'), false],
])('isLostBeforeCommit classifies %s', (_name, error, lost) => {
  expect(isLostBeforeCommit(error)).toBe(lost);
});

test.each([
  ['a serialization failure', databaseError('40001'), true],
  ['a deferred constraint', databaseError('23503'), true],
  ['a cancelled deferred trigger', databaseError('57014'), true],
  [
    'a connection that was lost before COMMIT was sent',
    new Error('Client has encountered a connection error and is not queryable'),
    true,
  ],
  ['a connection that broke', new Error('Connection terminated unexpectedly'), false],
  ['a reset connection', Object.assign(new Error('x'), { code: 'ECONNRESET' }), false],
  ['a shutdown', databaseError('57P01'), false],
  ['a full disk, with which the server may have stopped', databaseError('53100'), false],
])('isCertainlyNotCommitted classifies %s', (_name, error, certain) => {
  expect(isCertainlyNotCommitted(error)).toBe(certain);
});
