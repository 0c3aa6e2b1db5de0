import type { Reader, Tx } from '@millrace/platform/db';

export async function hasDemoMark(reader: Reader): Promise<boolean> {
  const row = await reader.kysely.selectFrom('demo_mark').select('marked_at').executeTakeFirst();
  return row !== undefined;
}

/** Fails if the ledger has transfers. */
export async function insertDemoMark(tx: Tx): Promise<void> {
  await tx.kysely
    .insertInto('demo_mark')
    .values({ marked_at: tx.clock.now() })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}
