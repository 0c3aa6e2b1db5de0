import { readFile } from 'node:fs/promises';
import { readEndpoints } from '@millrace/services';
import { createTestDatabase, type TestDatabase } from '@millrace/testing';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { snapshotMigratedSchema, schemaFile, tablesFile } from './schema-snapshot.ts';
import { appRole } from './index.ts';

const regenerate = 'regenerate with: npm run schema';

describe('the committed schema files', () => {
  it('equal the result of the migrations', async () => {
    const { schema, tables } = await snapshotMigratedSchema(readEndpoints().postgresUrl);
    expect(schema, regenerate).toBe(await readFile(schemaFile, 'utf8'));
    expect(tables, regenerate).toBe(await readFile(tablesFile, 'utf8'));
  });
});

describe('the migrated database', () => {
  let database: TestDatabase;
  let client: Client;
  beforeAll(async () => {
    database = await createTestDatabase();
    client = await database.connect();
    await client.query(`set role ${appRole}`);
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  it('has a comment on every table', async () => {
    const { rows } = await client.query<{ name: string }>(`
      select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and obj_description(oid) is null
    `);
    expect(rows).toEqual([]);
  });

  it('has a mode column in every tenant table, except tables that both modes share', async () => {
    const { rows } = await client.query<{ name: string }>(`
      select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
        and exists (select from pg_attribute where attrelid = pg_class.oid and attname = 'org_id')
        and not exists (select from pg_attribute where attrelid = pg_class.oid and attname = 'mode' and attnotnull)
      order by relname
    `);
    // Both modes share members and feed positions; suppliers are only live; deferred usage names its mode.
    const suppliers = ['join_tokens', 'machines', 'payouts', 'statements'].map((name) => `supplier_${name}`);
    expect(rows.map(({ name }) => name)).toEqual([
      'event_heads',
      'invitations',
      'members',
      ...suppliers,
      'suppliers',
      'usage_deferred',
    ]);
  });

  it('has no function that finds temporary tables before the tables of the schema', async () => {
    // Otherwise a login runs code as the owner of the function, with a temporary table of the same name. This includes functions
    // without the owner's rights that set the path, because functions with them fire triggers.
    const { rows } = await client.query<{ name: string; path: string | null }>(`
      select proname as name, substring(setting from '^search_path=(.*)$') as path
        from pg_proc
        left join lateral unnest(proconfig) as setting on setting like 'search_path=%'
       where pronamespace = 'public'::regnamespace and (prosecdef or setting is not null)
    `);
    expect(rows.length).toBeGreaterThan(10);
    expect(rows.filter(({ path }) => path !== 'pg_catalog, public, pg_temp')).toEqual([]);
  });

  it.each([
    'create table anything (id int)',
    'create temp table anything (id int)',
    'alter table outbox add column x int',
    'drop table outbox',
    'truncate outbox',
    'create role intruder',
    "insert into schema_migrations values (9999, 'x', 'x')",
    'delete from id_blocks',
    'delete from audit_log',
    "update audit_log set action = 'x'",
    'alter table audit_log disable trigger all',
    "update outbox set payload = '{}'",
    "update events set data = '{}'",
    'update events set seq = seq + 1',
    'delete from event_heads',
    'delete from relay_leases',
    'update id_blocks set cell = 1',
  ])('denies the app role: %s', async (statement) => {
    await expect(client.query(statement)).rejects.toMatchObject({
      code: expect.stringMatching(/^(42501|23001)$/),
    });
  });

  it('lets the app role read every table and write all except the listed ones', async () => {
    // Migrations create the rows of shards, the invoice counter and the restore mark; processes only update them.
    // Triggers write book_changes and listing_changes. A migration wrote written_off_clawbacks. Functions of the
    // owner write the archive. Partitions are accessed
    // through their table.
    const { rows } = await client.query<{ table_name: string }>(`
      select relname as table_name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
        and not (has_table_privilege(oid, 'select')
          and (relname in ('schema_migrations', 'meter_shards', 'sample_shards', 'book_changes', 'listing_changes',
                           'invoice_counter', 'restore_state', 'written_off_clawbacks', 'ledger_archives',
                           'ledger_opening_balances', 'ledger_archived_totals', 'ledger_archived_keys',
                           'archived_ledger_transfers', 'archived_ledger_entries', 'usage_archives',
                           'usage_months', 'usage_archive_guard')
            or has_any_column_privilege(oid, 'insert')))
    `);
    expect(rows).toEqual([]);
  });
});
