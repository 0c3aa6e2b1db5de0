import { sql } from 'kysely';
import type { Tx } from './db.ts';

/**
 * Runs a part of a transaction that may be refused. If it throws, its writes are undone and its locks are released, and the
 * transaction can go on. Parts are not nested.
 */
export async function inSavepoint<T>(tx: Tx, work: () => Promise<T>): Promise<T> {
  await sql`savepoint part`.execute(tx.kysely);
  try {
    const result = await work();
    await sql`release savepoint part`.execute(tx.kysely);
    return result;
  } catch (error) {
    // On a broken connection this fails too; the first error says why.
    await sql`rollback to savepoint part`.execute(tx.kysely).catch(() => undefined);
    throw error;
  }
}
