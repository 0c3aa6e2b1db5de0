/**
 * Writes db/schema.sql and tables.generated.ts anew from all migrations, applied to a database of their own.
 *
 *     tools/run packages/platform/src/db/dump-schema.ts [postgres url of the server]
 *
 * Without a url it uses the server that `npm run services -- up postgres` has started.
 */
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describeMigrations, schemaFile, tablesFile } from './describe.ts';

async function serverUrl(): Promise<string> {
  const given = process.argv[2];
  if (given !== undefined) return given;
  // The endpoints are the business of a tool; the platform package must not depend on it, not even to build.
  const services = (await import(
    fileURLToPath(new URL('../../../../tools/services/src/index.ts', import.meta.url))
  )) as { readEndpoints(): { postgresUrl: string } };
  return services.readEndpoints().postgresUrl;
}

const { schema, tables } = await describeMigrations(await serverUrl());
await writeFile(schemaFile, schema);
await writeFile(tablesFile, tables);
process.stdout.write(`Wrote ${schemaFile}\nWrote ${tablesFile}\n`);
