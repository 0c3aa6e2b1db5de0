import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createTestDatabase, uniqueId, type TestDatabase } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { accessOf, type TableAccess } from './role-access.ts';

/** The rights of the database roles, compared with the code of the processes. */

const root = fileURLToPath(new URL('../../../', import.meta.url));
const schema = readFileSync(`${root}db/schema.sql`, 'utf8');
const operations = ['select', 'insert', 'update', 'delete'] as const;

const database = await createTestDatabase();
afterAll(() => database.drop());

/** The columns of each table on which a role has a right; `*` for rights without columns. */
async function rightsOf(role: string): Promise<ReadonlyMap<string, string>> {
  const { rows } = await database.query<{ right: string; columns: string }>(
    `select operation || ' ' || relname as right, string_agg(attname, ' ' order by attname) as columns
       from pg_class
       cross join unnest(array['select', 'insert', 'update', 'delete', 'truncate']) as operation
       cross join lateral (
         select attname::text from pg_attribute
          where attrelid = pg_class.oid and attnum > 0 and not attisdropped and operation in ('select', 'insert', 'update')
            and has_column_privilege($1, attrelid, attnum, operation)
         union all
         select '*' where operation in ('delete', 'truncate') and has_table_privilege($1, pg_class.oid, operation)
       ) as granted (attname)
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v')
      group by 1`,
    [role],
  );
  return new Map(rows.map(({ right, columns }) => [right, columns]));
}

function expectedRights(access: TableAccess, app: ReadonlyMap<string, string>): Map<string, string> {
  const expected = new Map<string, string>();
  for (const [table, used] of access) {
    for (const operation of operations) {
      const right = `${operation} ${table}`;
      const columns = app.get(right);
      if (used.has(operation) && columns !== undefined) expected.set(right, columns);
    }
  }
  return expected;
}

const missingHint = 'grant or revoke it in a new migration, on the columns that millrace_app has';

describe.each(['api', 'worker', 'admin'])('the database role of %s', (process) => {
  const role = `millrace_${process}`;

  it('has exactly the rights that the code of the process needs', async () => {
    const app = await rightsOf('millrace_app');
    const expected = expectedRights(accessOf(root, `apps/${process}/src/main.ts`, schema), app);
    if (process === 'worker') {
      for (let slot = 0; slot <= 8; slot += 1) expected.set(`truncate rental_samples_${slot}`, '*');
    }
    // `millrace-admin restore-check` reads them as the owner of the database.
    if (process === 'admin') for (const table of ['events', 'webhooks']) expected.delete(`select ${table}`);
    const actual = await rightsOf(role);
    const sorted = (rights: ReadonlyMap<string, string>): string[] =>
      [...rights].map(([right, columns]) => `${right}: ${columns}`).toSorted();
    expect(sorted(actual), missingHint).toEqual(sorted(expected));
  });

  it('owns nothing, inherits from no other role and cannot create anything', async () => {
    const { rows } = await database.query(
      `select rolcanlogin or rolsuper or rolcreaterole or rolcreatedb or rolbypassrls or rolreplication as special,
              has_schema_privilege(oid, 'public', 'create') as creates,
              exists (select from pg_auth_members where member = pg_roles.oid) as inherits,
              exists (select from pg_shdepend where refobjid = pg_roles.oid and deptype = 'o') as owns
         from pg_roles where rolname = $1`,
      [role],
    );
    expect(rows).toEqual([{ special: false, creates: false, inherits: false, owns: false }]);
  });
});

const denied: readonly (readonly [string, readonly string[]])[] = [
  [
    'every process',
    [
      'create table anything (id int)',
      'alter table rentals add column x int',
      'drop table rentals',
      'alter table audit_log disable trigger all',
      'delete from audit_log',
      "update audit_log set action = 'x'",
      'update ledger_entries set amount_nano_usd = 0',
      'delete from ledger_entries',
      'delete from ledger_transfers',
      'truncate ledger_entries',
      "insert into schema_migrations values (9999, 'x', 'x')",
      'create role intruder',
      'create temp table intruder (x int)',
      'update api_keys set secret_sha256 = secret_sha256',
      'update api_keys set scopes = scopes',
    ],
  ],
  [
    'api',
    [
      'insert into events select * from events',
      'delete from outbox',
      'select from pot_leases',
      'insert into invoices select * from invoices',
      'update invoice_counter set last_number = 0',
      'insert into usage_charges select * from usage_charges',
      'delete from mock_machines',
      'select make_usage_partitions(current_date, 1)',
      'set role millrace_worker',
    ],
  ],
  [
    'worker',
    [
      'select from sessions',
      'select from accounts',
      'select from passkeys',
      'select from two_factors',
      'insert into users select * from users',
      'insert into api_keys select * from api_keys',
      'insert into prices select * from prices',
      'insert into platform_roles select * from platform_roles',
      'set role millrace_api',
    ],
  ],
  [
    'admin',
    [
      'insert into ledger_entries select * from ledger_entries',
      'update rentals set status = status',
      'delete from outbox',
    ],
  ],
];

type Client = Awaited<ReturnType<TestDatabase['connect']>>;

/** A real login: a superuser who set the role could set another one. */
async function withLogin(process: string, work: (client: Client) => Promise<void>): Promise<void> {
  const client = await database.connect();
  const login = `test_login_${process}_${uniqueId()}`;
  try {
    await client.query(`create role ${login} in role millrace_${process}`);
    await client.query(`set session authorization ${login}`);
    await client.query(`set role millrace_${process}`);
    await work(client);
  } finally {
    await client.query('reset session authorization');
    await client.query('discard temp');
    await client.query(`drop role ${login}`);
    await client.end();
  }
}

describe.each(['api', 'worker', 'admin'])('a login with the role of %s', (process) => {
  const statements = denied.flatMap(([who, list]) =>
    who === 'every process' || who === process ? list : [],
  );

  it.each(statements)('is denied: %s', async (statement) => {
    await withLogin(process, async (client) => {
      await expect(client.query(statement)).rejects.toMatchObject({ code: '42501' });
    });
  });
});

it('a trigger on a temporary table does not run with the rights of the owner of the schema', async () => {
  const organisation = '01900000-0000-7000-8000-000000000001';
  await database.query(
    "insert into organisations (id, name, slug, home_cell) values ($1, 'Example', 'example', 1)",
    [organisation],
  );
  // The login gets this right here, because an installation may have granted it.
  await database.query(`grant temporary on database ${database.name} to millrace_api`);
  await withLogin('api', async (client) => {
    await client.query('create temp table book_changes (kind text, ref text)');
    await client.query(`create function pg_temp.intrude() returns trigger language plpgsql as
      $$ begin raise exception 'The trigger ran as %.', current_user; end $$`);
    await client.query('grant insert on pg_temp.book_changes to public');
    await client.query(`create trigger intrude before insert on pg_temp.book_changes
      for each row execute function pg_temp.intrude()`);
    await client.query('begin');
    await client.query('update organisations set status = status where id = $1', [organisation]);
    const { rows } = await client.query('select kind from public.book_changes where ref = $1', [
      organisation,
    ]);
    expect(rows).toContainEqual({ kind: 'organisation' });
    await client.query('rollback');
  });
});
