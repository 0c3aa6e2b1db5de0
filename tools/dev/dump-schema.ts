/**
 * Rewrites db/schema.sql and the table types from all migrations, applied to a separate database.
 *
 *     npm run schema [-- <postgres url of a server>]
 *
 * The default server is that of `npm run services -- up postgres`.
 */
import { writeFile } from 'node:fs/promises';
import { snapshotMigratedSchema, schemaFile, tablesFile } from '@millrace/platform/db/schema-snapshot';
import { readEndpoints } from '@millrace/services';

const serverUrl = process.argv[2] ?? readEndpoints().postgresUrl;
const { schema, tables } = await snapshotMigratedSchema(serverUrl);
await writeFile(schemaFile, schema);
await writeFile(tablesFile, tables);
process.stdout.write(`Wrote ${schemaFile}\nWrote ${tablesFile}\n`);
