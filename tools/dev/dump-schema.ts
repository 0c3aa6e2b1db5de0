/**
 * Writes db/schema.sql and the table types anew from all migrations, applied to a database of their own.
 *
 *     npm run schema [-- <postgres url of a server>]
 *
 * Without a url it uses the server that `npm run services -- up postgres` has started.
 */
import { writeFile } from 'node:fs/promises';
import { snapshotMigratedSchema, schemaFile, tablesFile } from '@millrace/platform/db/schema-snapshot';
import { readEndpoints } from '@millrace/services';

const serverUrl = process.argv[2] ?? readEndpoints().postgresUrl;
const { schema, tables } = await snapshotMigratedSchema(serverUrl);
await writeFile(schemaFile, schema);
await writeFile(tablesFile, tables);
process.stdout.write(`Wrote ${schemaFile}\nWrote ${tablesFile}\n`);
