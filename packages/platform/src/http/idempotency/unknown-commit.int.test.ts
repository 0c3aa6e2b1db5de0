import { createTestDatabase, eventually, startPostgresServer } from '@millrace/testing';
import { afterAll, expect, test } from 'vitest';
import { toUuid } from '../../ids/index.ts';
import {
  authorizedHeaders,
  createItem,
  createTestServer,
  ids,
  testPrincipal,
} from '../test-server.fixture.ts';

const primary = await startPostgresServer();
const database = await createTestDatabase({ postgresUrl: primary.url });
const admin = await database.connect();
const server = createTestServer({
  db: database.db,
  principal: testPrincipal({ limits: { organisationRpm: 10_000, keyRpm: null } }),
});
afterAll(async () => {
  await server.close();
  await admin.end();
  await database.drop();
  await primary[Symbol.asyncDispose]();
});

const name = ids.nextUuid();
server.serve(createItem, ({ body, transact }) =>
  transact({ name: 'create item', isolation: 'read committed' }, async (tx) => {
    const id = tx.ids.next('org');
    const row = { id: toUuid(id), name, slug: id.slice(-20).toLowerCase(), home_cell: 1 };
    await tx.kysely.insertInto('organisations').values(row).execute();
    return { body: { id, size: body.size, key: null } };
  }),
);

const request = () =>
  server.fastify.inject({
    method: 'POST',
    url: '/v2/things',
    headers: { ...authorizedHeaders, 'idempotency-key': 'in doubt' },
    payload: { size: 8 },
  });

async function count(query: string): Promise<number> {
  return (await admin.query(query)).rowCount ?? 0;
}

const items = `select from organisations where name = '${name}'`;
const waiting = "from pg_stat_activity where wait_event = 'SyncRep'";

test('a request whose commit did not wait for its standby gets 503, and its repetition is answered only when a standby has the row', async () => {
  await admin.query('set synchronous_commit = local');
  await admin.query("alter system set synchronous_standby_names = '*'");
  await admin.query('select pg_reload_conf()');
  const first = request();
  await eventually(
    { what: 'the wait for a standby was cancelled' },
    async () => (await count(`select pg_cancel_backend(pid) ${waiting}`)) === 1,
  );
  const refused = await first;
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '1']);
  expect(await count(items)).toBe(1);
  let isAnswered = false;
  const repetition = request().finally(() => (isAnswered = true));
  await eventually(
    { what: 'the repetition to wait for a standby' },
    async () => isAnswered || (await count(`select ${waiting}`)) === 1,
  );
  expect(isAnswered).toBe(false);
  await using _standby = await startPostgresServer({ standbyOf: primary });
  const response = await repetition;
  expect([response.statusCode, response.headers['idempotent-replayed']]).toEqual([201, 'true']);
  expect(await count(items)).toBe(1);
  // Dropping the database would wait for the standby that ends here.
  await admin.query("alter system set synchronous_standby_names = ''");
  await admin.query('select pg_reload_conf()');
});
