import type { Client } from 'pg';
import type { ConcurrentIndex } from './migration-files.ts';

/**
 * Builds an index while its table is read and written, after dropping one that an earlier run left, finished or not. PostgreSQL cannot build an
 * index of a partitioned table concurrently, so each partition is built separately, and a later run continues.
 */
export async function buildIndex(client: Client, index: ConcurrentIndex): Promise<void> {
  if (await isPartitioned(client, index.table)) await buildOnPartitions(client, index);
  else await buildOne(client, index);
}

/** Waits for long transactions without a limit, because no other session queues behind a concurrent build. */
async function buildOne(
  client: Client,
  { name, table, isUnique, definition }: ConcurrentIndex,
): Promise<void> {
  await client.query("select set_config('lock_timeout', '0', false)");
  await client.query(`drop index concurrently if exists ${name}`);
  const create = isUnique ? 'create unique index' : 'create index';
  await client.query(`${create} concurrently ${name} on ${table} ${definition}`);
  await client.query('reset lock_timeout');
}

async function isPartitioned(client: Client, table: string): Promise<boolean> {
  const { rows } = await client.query<{ kind: string }>(
    'select relkind as kind from pg_class where oid = to_regclass($1)',
    [table],
  );
  return rows[0]?.kind === 'p';
}

/**
 * Builds the index of each partition and attaches it to an invalid index of the parent. The parent's index is created
 * first, so that partitions attached meanwhile get their index too. A later run keeps attached indexes. `create index
 * on only` and `attach partition` lock the parent briefly, with the lock timeout of migrations.
 */
async function buildOnPartitions(client: Client, index: ConcurrentIndex): Promise<void> {
  const { name, table, isUnique, definition } = index;
  if (isUnique)
    throw new Error(`A unique index of the partitioned table ${table} cannot be built concurrently.`);
  await client.query(`create index if not exists ${name} on only ${table} ${definition}`);
  for (const partition of await listPartitionsWithout(client, index)) {
    const part = partName(index, partition);
    await buildOne(client, { ...index, name: part, table: partition });
    await client.query(`alter index ${name} attach partition ${part}`);
  }
  const { rows } = await client.query<{ valid: boolean }>(
    'select indisvalid as valid from pg_index where indexrelid = to_regclass($1)',
    [name],
  );
  if (rows[0]?.valid !== true)
    throw new Error(`The index ${name} is missing on a partition of ${table}. Migrate again.`);
}

async function listPartitionsWithout(client: Client, { name, table }: ConcurrentIndex): Promise<string[]> {
  const { rows } = await client.query<{ partition: string }>(
    `select child.relname as partition from pg_inherits
       join pg_class child on child.oid = pg_inherits.inhrelid
      where pg_inherits.inhparent = to_regclass($1)
        and not exists (
          select from pg_index part join pg_inherits attached on attached.inhrelid = part.indexrelid
           where part.indrelid = child.oid and attached.inhparent = to_regclass($2))
      order by child.relname`,
    [table, name],
  );
  return rows.map(({ partition }) => partition);
}

/** Returns `requests_20260101_transfer_idx` for the index `requests_transfer_idx` of `requests`. */
function partName({ name, table }: ConcurrentIndex, partition: string): string {
  const suffix = name.startsWith(`${table}_`) ? name.slice(table.length + 1) : name;
  return `${partition}_${suffix}`;
}
