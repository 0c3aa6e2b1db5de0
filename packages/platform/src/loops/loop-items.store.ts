import { createHash } from 'node:crypto';
import { sql, type Expression, type RawBuilder } from 'kysely';
import type { Reader, Tx } from '../db/index.ts';

/** All SQL about items of loops: which of them failed or are claimed, and from when they may be taken again. */

const MAX_ITEM_BYTES = 200;
const DIGEST = 'sha256:';

/** The key as the table has it: a key that is longer than the column is kept as its digest. `isItemAvailable` does the same. */
export function rowKeyOf(key: string): string {
  if (Buffer.byteLength(key) <= MAX_ITEM_BYTES) return key;
  return `${DIGEST}${createHash('sha256').update(key).digest('hex')}`;
}

export interface ItemState {
  readonly item: string;
  readonly failures: number;
  readonly freeAt: Date;
}

/**
 * The condition by which a query for work leaves out items that are claimed or postponed after a failure. `item` is the
 * column, qualified by its table and cast to text, that the runner's `key` answers.
 */
export function isItemAvailable(
  loop: { readonly name: string },
  item: Expression<string>,
  now: Date,
): RawBuilder<boolean> {
  return sql<boolean>`not exists (
    select from loop_items
     where loop_items.loop = ${loop.name} and loop_items.free_at > ${now}
       and loop_items.item = case when octet_length(${item}) <= ${sql.lit(MAX_ITEM_BYTES)} then ${item}
                             else ${sql.lit(DIGEST)} || encode(sha256(convert_to(${item}, 'UTF8')), 'hex') end
  )`;
}

export async function listItemStates(
  reader: Reader,
  loop: string,
  items: readonly string[],
): Promise<readonly ItemState[]> {
  if (items.length === 0) return [];
  const rows = await reader.kysely
    .selectFrom('loop_items')
    .select(['item', 'failures', 'free_at'])
    .where('loop', '=', loop)
    .where('item', 'in', sql<string>`(select unnest(${[...items]}::text[]))`)
    .execute();
  return rows.map(({ item, failures, free_at: freeAt }) => ({ item, failures, freeAt }));
}

/** Claims those of the items that are free, and answers them. Two workers never hold one item at once. */
export async function claimItems(
  tx: Tx,
  loop: string,
  items: readonly string[],
  { holder, forMs }: { readonly holder: string; readonly forMs: number },
): Promise<readonly string[]> {
  if (items.length === 0) return [];
  const now = tx.clock.now();
  const until = new Date(now.getTime() + forMs);
  // In one order everywhere, so that two workers that claim the same items wait for each other and never deadlock.
  const rows = await sql<{ item: string }>`
    insert into loop_items (loop, item, failures, free_at, holder)
    select ${loop}, item, 0, ${until}, ${holder} from unnest(${[...items]}::text[]) as item order by item
    on conflict (loop, item) do update set free_at = excluded.free_at, holder = excluded.holder where loop_items.free_at <= ${now}
    returning item`.execute(tx.kysely);
  return rows.rows.map(({ item }) => item);
}

/** Items of a loop as one runner knows them; `holder` is null for a runner that claims nothing. */
export interface ClaimedItems {
  readonly loop: string;
  readonly items: readonly string[];
  /** A row that another runner has claimed since is left alone. */
  readonly holder: string | null;
}

const isClaimedByHolder = ({ loop, items, holder }: ClaimedItems) => sql<boolean>`
  loop = ${loop} and item = any (${[...items]}::text[]) and (${holder}::uuid is null or holder = ${holder}::uuid)`;

/** Removes what is known of items that succeeded. */
export async function deleteItems(tx: Tx, held: ClaimedItems): Promise<void> {
  await sql`delete from loop_items where ${isClaimedByHolder(held)}`.execute(tx.kysely);
}

/** Ends claims of items that were not tried. Their failures stay. */
export async function releaseItems(tx: Tx, held: ClaimedItems): Promise<void> {
  await sql`delete from loop_items where ${isClaimedByHolder(held)} and failures = 0`.execute(tx.kysely);
  await sql`
    update loop_items set holder = null, free_at = ${tx.clock.now()} where ${isClaimedByHolder(held)}
  `.execute(tx.kysely);
}

/** Keeps the item from every worker for so long; false: another runner has claimed it. */
export async function extendClaim(tx: Tx, held: ClaimedItems, forMs: number): Promise<boolean> {
  const until = new Date(tx.clock.nowMs() + forMs);
  const { numAffectedRows } = await sql`
    update loop_items set free_at = greatest(free_at, ${until}) where ${isClaimedByHolder(held)}
  `.execute(tx.kysely);
  return numAffectedRows === 1n;
}

export interface ItemFailure {
  readonly item: string;
  readonly failures: number;
  readonly retryInMs: number;
  readonly problem: string;
  /** Of the claim; null for a runner that claims nothing. A row that another runner has claimed since is left alone. */
  readonly holder: string | null;
}

export async function saveFailure(tx: Tx, loop: string, failure: ItemFailure): Promise<void> {
  const now = tx.clock.now();
  const row = {
    failures: failure.failures,
    free_at: new Date(now.getTime() + failure.retryInMs),
    problem: failure.problem,
  };
  await tx.kysely
    .insertInto('loop_items')
    .values({ loop, item: failure.item, holder: failure.holder, failing_since: now, ...row })
    .onConflict((conflict) =>
      conflict
        .columns(['loop', 'item'])
        .doUpdateSet({
          ...row,
          failing_since: sql<Date>`coalesce(loop_items.failing_since, excluded.failing_since)`,
        })
        .where(sql<boolean>`loop_items.holder is not distinct from ${failure.holder}::uuid`),
    )
    .execute();
}

/** Removes failures of items that nothing has taken since `before`: the item itself is gone. */
export async function deleteStaleItems(tx: Tx, before: Date, limit: number): Promise<number> {
  const { rows } = await sql<{ item: string }>`
    delete from loop_items where (loop, item) in (
      select loop, item from loop_items where free_at < ${before} order by free_at limit ${limit}
    ) returning item`.execute(tx.kysely);
  return rows.length;
}

/** How many items of each loop fail at present. */
export async function countFailingItems(
  reader: Reader,
): Promise<readonly { readonly loop: string; readonly items: number }[]> {
  const rows = await reader.kysely
    .selectFrom('loop_items')
    .select(['loop', sql<number>`count(*)::int`.as('items')])
    .where('failures', '>', 0)
    .groupBy('loop')
    .execute();
  return rows;
}
