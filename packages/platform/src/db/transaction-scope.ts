import { AsyncLocalStorage } from 'node:async_hooks';
import { sql } from 'kysely';
import type { Tx } from './db.ts';

interface TransactionScope {
  readonly name: string;
  open: boolean;
}

const scopes = new AsyncLocalStorage<TransactionScope>();

/** Marks `work` as the inside of a transaction for `assertOutsideTransaction`. */
export async function runInTransactionScope<T>(name: string, work: () => Promise<T>): Promise<T> {
  const scope: TransactionScope = { name, open: true };
  try {
    return await scopes.run(scope, work);
  } finally {
    // Work that continues after the transaction still has this scope, but is outside the transaction.
    scope.open = false;
  }
}

/**
 * Throws inside a transaction: a second connection misses its writes and can exhaust the pool, and a network call prolongs
 * its row locks.
 */
export function assertOutsideTransaction(what: string): void {
  const scope = scopes.getStore();
  if (scope?.open) {
    throw new Error(
      `${what} was used inside the transaction "${scope.name}". Use the Tx for queries, ` +
        'and do everything else before it opens or after it commits.',
    );
  }
}

/**
 * If the work throws, its writes are rolled back, its locks are released and the transaction can continue. Savepoints cannot
 * be nested.
 */
export async function inSavepoint<T>(tx: Tx, work: () => Promise<T>): Promise<T> {
  await sql`savepoint part`.execute(tx.kysely);
  try {
    const result = await work();
    await sql`release savepoint part`.execute(tx.kysely);
    return result;
  } catch (error) {
    // On a broken connection the rollback fails too; the first error has the cause.
    await sql`rollback to savepoint part`.execute(tx.kysely).catch(() => undefined);
    throw error;
  }
}
