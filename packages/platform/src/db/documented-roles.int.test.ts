import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import {
  createOrganisation,
  longDbTimeouts,
  startPostgresServer,
  type TestPostgres,
} from '@millrace/testing';
import { sql } from 'kysely';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../clock/index.ts';
import { createIdSource } from '../ids/index.ts';
import { createLogger } from '../log/index.ts';
import { appRole, createDb, migrate, processRoles, requireSchema, type Db } from './index.ts';

/** Runs the SQL of the guide as an administrator, migrates as its owner, and connects with its logins. */

const guide = fileURLToPath(new URL('../../../../docs/guides/connections.md', import.meta.url));
const password = 'a password';

async function startServer(): Promise<TestPostgres> {
  const server = await startPostgresServer({ settings: { fsync: 'off' } });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

async function documentedStatements(): Promise<readonly string[]> {
  const [, section = ''] = (await readFile(guide, 'utf8')).split('\n## PostgreSQL\n');
  const [, block = ''] = /```sql\n([\s\S]*?)```/.exec(section) ?? [];
  return block
    .replaceAll('…', password)
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

async function runAsAdministrator(server: TestPostgres, statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: server.url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

function urlOf(server: TestPostgres, user: string): string {
  return `postgres://${user}:${encodeURIComponent(password)}@${server.host}/millrace`;
}

function open(server: TestPostgres, user: string, role: string | null): Db {
  const db = createDb({
    ...longDbTimeouts,
    url: urlOf(server, user),
    poolSize: 2,
    role,
    ids: createIdSource({ clock: systemClock, cell: 1 }),
    log: createLogger({ name: 'test', level: 'silent' }),
  });
  onTestFinished(() => db.close());
  return db;
}

/** Work of each process. The first two also run functions with the rights of the owner. */
const work: Readonly<Record<keyof typeof processRoles, (db: Db) => Promise<unknown>>> = {
  api: (db) => createOrganisation(db),
  worker: (db) => sql`select make_usage_partitions(current_date + 30, 1)`.execute(db.kysely),
  admin: (db) => sql`insert into platform_roles select * from platform_roles`.execute(db.kysely),
};
const processes = Object.keys(work) as (keyof typeof work)[];

describe('the roles and logins of the guide', () => {
  it('let an owner without the right to create roles migrate, and each login do the work of its process only', async () => {
    const server = await startServer();
    await runAsAdministrator(server, await documentedStatements());
    await migrate(urlOf(server, 'millrace_owner'));

    const owner = open(server, 'millrace_owner', null);
    const { rows } = await sql`
      select rolcreaterole or rolsuper or rolcreatedb or rolreplication or rolbypassrls as special,
             exists (select from pg_auth_members where member = pg_roles.oid) as inherits,
             has_database_privilege(current_database(), 'temporary') as may_create_temporary_tables
        from pg_roles where rolname = current_user`.execute(owner.kysely);
    expect(rows).toEqual([{ special: false, inherits: false, may_create_temporary_tables: true }]);

    for (const process of processes) {
      const db = open(server, `millrace_${process}_1`, processRoles[process]);
      await requireSchema(db);
      await work[process](db);
      for (const denied of ['create temp table x (id int)', 'create table x (id int)', 'create role x']) {
        await expect(sql.raw(denied).execute(db.kysely)).rejects.toMatchObject({ code: '42501' });
      }
      for (const other of [...processes.filter((each) => each !== process), 'owner']) {
        const change = sql.raw(`set role millrace_${other}`).execute(db.kysely);
        await expect(change).rejects.toMatchObject({ code: '42501' });
      }
    }
  });

  it('let existing logins, which are members of millrace_app, work as each process', async () => {
    const server = await startServer();
    const earlier = `create role earlier login password '${password}' in role ${appRole}`;
    await runAsAdministrator(server, [...(await documentedStatements()), earlier]);
    await migrate(urlOf(server, 'millrace_owner'));
    for (const process of processes) {
      const db = open(server, 'earlier', processRoles[process]);
      await requireSchema(db);
      await work[process](db);
    }
  });
});

it('migrating without the right to create roles fails with the name of the missing role', async () => {
  const server = await startServer();
  const statements = await documentedStatements();
  await runAsAdministrator(
    server,
    statements.filter((statement) => !/millrace_(?:api|worker|admin)/.test(statement)),
  );
  await expect(migrate(urlOf(server, 'millrace_owner'))).rejects.toMatchObject({
    cause: { message: expect.stringContaining('The role millrace_api does not exist') as string },
  });
});
