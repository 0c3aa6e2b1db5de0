import { createHash } from 'node:crypto';
import { APIError } from 'better-auth/api';
import type { DBAdapter, DBTransactionAdapter, Where } from '@better-auth/core/db/adapter';
import { recordDatabaseFailure, withRecordedFailure } from './database-failures.ts';

/**
 * Wraps the library's adapter in three ways. Session tokens and device codes are stored only as SHA-256, so that a copy
 * of the database contains no usable session. Values that no column accepts, which only a hostile caller sends, become
 * 400 instead of 500. Errors of an unavailable database are recorded, because the library hides some of them.
 */

/** For each model, the field that is stored as a hash. */
const hashedFields: Readonly<Record<string, string>> = { session: 'token', deviceCode: 'deviceCode' };

export function hashSecretText(secret: string): string {
  return createHash('sha256').update(secret, 'utf8').digest('hex');
}

type Row = Record<string, unknown>;

/** A query with the hashed secret, and the plain secret to put back into the row that it returns. */
interface HashedWhere {
  readonly where: Where[];
  /** Null if the query selects by another field; the row then keeps the hash. */
  readonly secret: string | null;
}

function hashWhere(model: string, where: Where[] = []): HashedWhere {
  const field = hashedFields[model];
  let secret: string | null = null;
  const hashed = where.map((condition) => {
    if (condition.field !== field) return condition;
    const { value } = condition;
    if (Array.isArray(value))
      return { ...condition, value: value.map((each) => hashSecretText(String(each))) };
    secret = String(value);
    return { ...condition, value: hashSecretText(secret) };
  });
  return { where: hashed, secret };
}

function hashData<Data extends Row>(model: string, data: Data): Data {
  const field = hashedFields[model];
  const value = field === undefined ? undefined : data[field];
  return field === undefined || typeof value !== 'string'
    ? data
    : { ...data, [field]: hashSecretText(value) };
}

function withSecret<T>(model: string, row: T, secret: unknown): T {
  const field = hashedFields[model];
  if (field === undefined || typeof secret !== 'string' || typeof row !== 'object' || row === null)
    return row;
  return { ...row, [field]: secret };
}

/** PostgreSQL codes of unfit values: malformed UUID, NUL, too long, failed check, unknown reference. */
const badValue: ReadonlySet<unknown> = new Set([
  ...['22P02', '22021', '22001', '22003', '22P05'],
  ...['23514', '23503'],
]);

async function rejectBadValues<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    recordDatabaseFailure(error);
    const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
    if (!badValue.has(code)) throw error;
    throw new APIError('BAD_REQUEST', { code: 'INVALID_VALUE', message: 'A value cannot be stored.' });
  }
}

function hashTransaction(inner: DBTransactionAdapter): DBTransactionAdapter {
  return {
    ...inner,
    create: async (call) => {
      const made = await rejectBadValues(inner.create({ ...call, data: hashData(call.model, call.data) }));
      // The library's type does not say that `create` returns the row.
      return withSecret(call.model, made, (call.data as Row)[hashedFields[call.model] ?? '']) as never;
    },
    findOne: async <T>(call: Parameters<DBAdapter['findOne']>[0]) => {
      const { where, secret } = hashWhere(call.model, call.where);
      return withSecret(call.model, await rejectBadValues(inner.findOne<T>({ ...call, where })), secret);
    },
    findMany: <T>(call: Parameters<DBAdapter['findMany']>[0]) =>
      rejectBadValues(inner.findMany<T>({ ...call, where: hashWhere(call.model, call.where).where })),
    count: (call) =>
      rejectBadValues(inner.count({ ...call, where: hashWhere(call.model, call.where).where })),
    update: async <T>(call: Parameters<DBAdapter['update']>[0]) => {
      const { where, secret } = hashWhere(call.model, call.where);
      const update = hashData(call.model, call.update);
      return withSecret(
        call.model,
        await rejectBadValues(inner.update<T>({ ...call, where, update })),
        secret,
      );
    },
    updateMany: (call) =>
      rejectBadValues(
        inner.updateMany({
          ...call,
          where: hashWhere(call.model, call.where).where,
          update: hashData(call.model, call.update),
        }),
      ),
    delete: (call) =>
      rejectBadValues(inner.delete({ ...call, where: hashWhere(call.model, call.where).where })),
    deleteMany: (call) =>
      rejectBadValues(inner.deleteMany({ ...call, where: hashWhere(call.model, call.where).where })),
    consumeOne: async <T>(call: Parameters<DBAdapter['consumeOne']>[0]) => {
      const { where, secret } = hashWhere(call.model, call.where);
      return withSecret(call.model, await rejectBadValues(inner.consumeOne<T>({ ...call, where })), secret);
    },
    incrementOne: async <T>(call: Parameters<DBAdapter['incrementOne']>[0]) => {
      const { where, secret } = hashWhere(call.model, call.where);
      return withSecret(call.model, await rejectBadValues(inner.incrementOne<T>({ ...call, where })), secret);
    },
  };
}

export function hashSecretsIn(inner: DBAdapter): DBAdapter {
  return {
    ...hashTransaction(inner),
    // BEGIN and COMMIT fail here.
    transaction: (work) =>
      withRecordedFailure(inner.transaction((adapter) => work(hashTransaction(adapter)))),
  };
}
