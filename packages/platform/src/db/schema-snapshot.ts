import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { dumpSchema } from './dump.ts';
import { generateTables } from './generate-tables.ts';
import { migrate } from './migrate.ts';

export const schemaFile = fileURLToPath(new URL('../../../../db/schema.sql', import.meta.url));
export const tablesFile = fileURLToPath(new URL('./tables.generated.ts', import.meta.url));

async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Applies all migrations to a temporary database and returns its schema and table types. */
export async function snapshotMigratedSchema(serverUrl: string): Promise<{ schema: string; tables: string }> {
  const name = `millrace_describe_${randomUUID().replaceAll('-', '')}`;
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await withClient(serverUrl, (client) => client.query(`create database ${name}`));
  try {
    await migrate(url.href);
    return { schema: await dumpSchema(url.href), tables: await withClient(url.href, generateTables) };
  } finally {
    await withClient(serverUrl, (client) => client.query(`drop database ${name} with (force)`));
  }
}
