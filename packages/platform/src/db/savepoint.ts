import { sql } from 'kysely';
import type { Tx } from './db.ts';

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
