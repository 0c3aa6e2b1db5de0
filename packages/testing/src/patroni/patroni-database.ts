import { systemClock } from '@millrace/platform/clock';
import { createDb, migrate } from '@millrace/platform/db';
import { createIdSource } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { Client } from 'pg';
import { longDbTimeouts, type TestDatabase } from '../postgres/database.ts';
import type { PatroniCluster } from './patroni-cluster.ts';

const DATABASE = 'millrace';
const owner = { user: 'millrace_owner', password: 'a password of the owner' };
const login = { user: 'millrace_app_1', password: 'a password of processes' };

/** The roles of docs/guides/connections.md, with one login for all processes. */
const roles = `
  create role millrace_app nologin;
  create role millrace_api nologin;
  create role millrace_worker nologin;
  create role millrace_admin nologin;
  grant millrace_api, millrace_worker, millrace_admin to millrace_app;
  create role ${owner.user} login password '${owner.password}';
  create role ${login.user} login password '${login.password}' in role millrace_app;`;

/** A migrated database on a Patroni cluster. Its URL names all servers. */
export async function createPatroniDatabase(cluster: PatroniCluster): Promise<TestDatabase> {
  await cluster.sql(roles);
  await cluster.sql(
    `create database ${DATABASE} owner ${owner.user} template template0 encoding 'UTF8' locale 'C'`,
  );
  await migrate(cluster.url(owner, DATABASE), { log: createLogger({ name: 'migrate', level: 'warn' }) });
  const url = cluster.url(login, DATABASE);
  const db = createDb({
    ...longDbTimeouts,
    url,
    poolSize: 8,
    ids: createIdSource({ clock: systemClock, cell: 1 }),
    log: createLogger({ name: 'database', level: 'silent' }),
  });
  const connect = async (): Promise<Client> => {
    const { port } = await cluster.primary();
    const client = new Client({ host: '127.0.0.1', port, database: DATABASE, ...login, ssl: cluster.tls });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  // The cluster is disposed of with its databases.
  const drop = (): Promise<void> => db.close();
  return {
    name: DATABASE,
    url,
    db,
    connect,
    query: async (text, values) => {
      const client = await connect();
      try {
        return await client.query(text, values);
      } finally {
        await client.end();
      }
    },
    drop,
    [Symbol.asyncDispose]: drop,
  };
}
