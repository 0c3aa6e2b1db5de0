import { createHash } from 'node:crypto';
import { sql, type Expression, type RawBuilder } from 'kysely';
import type { Reader, Tx } from '../db/index.ts';

/** All SQL about loop items: which items failed or are claimed, and when they become available. */

const MAX_ITEM_BYTES = 200;
const DIGEST = 'sha256:';

/** The key in the table: a key longer than the column is stored as its digest. `isItemAvailable` does the same. */
export function rowKeyOf(key: string): string {
  if (Buffer.byteLength(key) <= MAX_ITEM_BYTES) return key;
  return `${DIGEST}${createHash('sha256').update(key).digest('hex')}`;
}

export interface ItemState {
  readonly item: string;
  readonly failures: number;
  readonly freeAt: Date;
}

/** Excludes claimed and postponed items from a query. `item` is the qualified column with the runner's `key`. */
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

/** Claims the free items and returns them. Two workers never hold one item at once. */
export async function claimItems(
  tx: Tx,
  loop: string,
  items: readonly string[],
  { holder, forMs }: { readonly holder: string; readonly forMs: number },
): Promise<readonly string[]> {
  if (items.length === 0) return [];
  const now = tx.clock.now();
  const until = new Date(now.getTime() + forMs);
  // A fixed order, so that two workers that claim the same items wait for each other instead of deadlocking.
  const rows = await sql<{ item: string }>`
    insert into loop_items (loop, item, failures, free_at, holder)
    select ${loop}, item, 0, ${until}, ${holder} from unnest(${[...items]}::text[]) as item order by item
    on conflict (loop, item) do update set free_at = excluded.free_at, holder = excluded.holder where loop_items.free_at <= ${now}
    returning item`.execute(tx.kysely);
  return rows.rows.map(({ item }) => item);
}

/** Items of one runner; `holder` is null if the runner does not claim items. */
export interface ClaimedItems {
  readonly loop: string;
  readonly items: readonly string[];
  /** Rows that another runner has claimed since are not changed. */
  readonly holder: string | null;
}

const isClaimedByHolder = ({ loop, items, holder }: ClaimedItems) => sql<boolean>`
  loop = ${loop} and item = any (${[...items]}::text[]) and (${holder}::uuid is null or holder = ${holder}::uuid)`;

/** Deletes the rows of items that succeeded. */
export async function deleteItems(tx: Tx, held: ClaimedItems): Promise<void> {
  await sql`delete from loop_items where ${isClaimedByHolder(held)}`.execute(tx.kysely);
}

/** Releases claims of items that were not tried, and keeps their failure counts. */
export async function releaseItems(tx: Tx, held: ClaimedItems): Promise<void> {
  await sql`delete from loop_items where ${isClaimedByHolder(held)} and failures = 0`.execute(tx.kysely);
  await sql`
    update loop_items set holder = null, free_at = ${tx.clock.now()} where ${isClaimedByHolder(held)}
  `.execute(tx.kysely);
}

/** Extends the claim by `forMs`; false if another runner has claimed the item. */
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
  /** Null if the runner does not claim items. Rows that another runner claimed since are not changed. */
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

/** Deletes failures of items that were not taken since `before`, because such items no longer exist. */
export async function deleteStaleItems(tx: Tx, before: Date, limit: number): Promise<number> {
  const { rows } = await sql<{ item: string }>`
    delete from loop_items where (loop, item) in (
      select loop, item from loop_items where free_at < ${before} order by free_at limit ${limit}
    ) returning item`.execute(tx.kysely);
  return rows.length;
}

/** Loops with failing items, and since when the first of them fails. */
export async function measureFailingLoops(
  reader: Reader,
): Promise<readonly { readonly loop: string; readonly items: number; readonly failingSince: Date }[]> {
  const rows = await reader.kysely
    .selectFrom('loop_items')
    .select((of) => [
      'loop',
      sql<number>`count(*)::int`.as('items'),
      of.fn.min('failing_since').$castTo<Date>().as('failingSince'),
    ])
    .where('failures', '>', 0)
    .groupBy('loop')
    .orderBy('loop')
    .execute();
  return rows;
}

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
