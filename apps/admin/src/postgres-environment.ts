import { parsePostgresUrl } from '@millrace/platform/db';
import { CommandError } from './command.ts';

/** The public authorities on Debian. */
const publicAuthorities = '/etc/ssl/certs/ca-certificates.crt';

/** The variables with which psql, pg_dump and pg_restore connect. Command lines would show the password to other users. */
export function postgresEnvironment(
  url: string,
  { caFile, name }: { readonly caFile: string | null; readonly name: string },
): Readonly<Record<string, string>> {
  const { servers, user, password, database, requiresTls, rootCertificateFile } = parseUrl(url);
  return {
    PGHOST: servers.map(({ host }) => host).join(','),
    PGPORT: servers.map(({ port }) => String(port)).join(','),
    PGUSER: user,
    PGDATABASE: database,
    PGAPPNAME: name,
    PGCONNECT_TIMEOUT: '30',
    ...(password === '' ? {} : { PGPASSWORD: password }),
    ...(requiresTls
      ? { PGSSLMODE: 'verify-full', PGSSLROOTCERT: rootCertificateFile ?? caFile ?? publicAuthorities }
      : {}),
    ...(servers.length > 1 ? { PGTARGETSESSIONATTRS: 'read-write' } : {}),
  };
}

function parseUrl(url: string): ReturnType<typeof parsePostgresUrl> {
  try {
    return parsePostgresUrl(url);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new CommandError(`The URL of the database is not valid: ${problem}.`, { cause: error });
  }
}
