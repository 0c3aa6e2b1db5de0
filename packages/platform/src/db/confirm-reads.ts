import { CompiledQuery } from 'kysely';
import type { Tx } from './db.ts';

/** Writes an empty record to the write-ahead log. A COMMIT that wrote nothing would not wait for a standby. */
const writeRecordText = "select pg_logical_emit_message(true, 'millrace', '')";

/**
 * Makes COMMIT of this transaction wait for the synchronous standby although it only reads. After the commit, everything that it read
 * is on two servers, and no other primary existed yet. For reads on which an effect outside the database, or a response, depends.
 */
export async function confirmReads(tx: Tx): Promise<void> {
  await tx.kysely.executeQuery(CompiledQuery.raw(writeRecordText));
}
