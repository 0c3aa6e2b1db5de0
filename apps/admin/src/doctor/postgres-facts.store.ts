import { defineStatement, runStatement, type Reader } from '@millrace/platform/db';

export interface PostgresFacts {
  readonly version: string;
  readonly versionNumber: number;
  readonly isReadOnly: boolean;
  readonly fsync: string;
  readonly synchronousCommit: string;
  readonly fullPageWrites: string;
  readonly connections: number;
  readonly maxConnections: number;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  readonly login: string;
  readonly database: string;
  /** Rights of the login beyond the database, such as `superuser`. */
  readonly rights: readonly string[];
}

const factsStatement = defineStatement(
  'doctor facts',
  `select current_setting('server_version') as version,
          current_setting('server_version_num')::int as "versionNumber",
          (pg_is_in_recovery() or current_setting('transaction_read_only')::boolean) as "isReadOnly",
          current_setting('fsync') as fsync,
          current_setting('synchronous_commit') as "synchronousCommit",
          current_setting('full_page_writes') as "fullPageWrites",
          (select sum(numbackends)::int from pg_stat_database) as connections,
          current_setting('max_connections')::int as "maxConnections",
          extract(epoch from clock_timestamp())::double precision * 1000 as "nowMs",
          session_user::text as login,
          current_database()::text as database,
          (select array_remove(array[case when rolsuper then 'superuser' end, case when rolcreaterole then 'createrole' end,
                                     case when rolcreatedb then 'createdb' end,
                                     case when rolbypassrls then 'bypassrls' end], null)
             from pg_roles where rolname = session_user) as rights`,
);

export async function readPostgresFacts(reader: Reader): Promise<PostgresFacts> {
  const [facts] = await runStatement<PostgresFacts>(reader, factsStatement, []);
  if (facts === undefined) throw new Error('PostgreSQL returned no row.');
  return facts;
}
