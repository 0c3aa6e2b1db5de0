import { readFileSync } from 'node:fs';
import type { ClientConfig } from 'pg';
import { parseCertificates } from '../tls/index.ts';
import { PostgresClient, type PostgresClientConfig } from './postgres-client.ts';
import { ServerChoice } from './servers/server-choice.ts';
import { parsePostgresUrl, type PostgresUrl } from './servers/server-url.ts';

export interface DatabaseAccess {
  readonly url: string;
  /** Authorities whose certificates are accepted, in PEM. Default: the public authorities. */
  readonly ca?: string | null;
}

/** The settings of each connection to the servers of the URL. */
export function connectionConfig(access: DatabaseAccess): PostgresClientConfig {
  const url = parseUrl(access.url);
  const { servers, user, password, database } = url;
  return {
    choice: new ServerChoice(servers),
    user,
    password,
    database,
    // Always set, because the driver reads PGSSLMODE otherwise. Node verifies the name or the address.
    ssl: url.requiresTls ? tlsOptions(url, access) : false,
    keepAlive: true,
    // Node then probes each second, so that an unused connection to a lost server ends within half a minute.
    keepAliveInitialDelayMillis: 10_000,
  };
}

/** Opens one connection outside a pool. */
export async function connectClient(
  access: DatabaseAccess,
  config: ClientConfig = {},
): Promise<PostgresClient> {
  const base = connectionConfig(access);
  return base.choice.connect(async () => {
    const client = new PostgresClient({ ...base, ...config });
    await client.connect();
    return client;
  });
}

function parseUrl(url: string): PostgresUrl {
  try {
    return parsePostgresUrl(url);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new TypeError(`The URL of the database is not valid: ${problem}.`, { cause: error });
  }
}

function tlsOptions({ rootCertificateFile }: PostgresUrl, access: DatabaseAccess) {
  const ca = rootCertificateFile === null ? (access.ca ?? null) : readFileSync(rootCertificateFile, 'utf8');
  // The driver would accept the public authorities for an empty file.
  if (ca !== null) parseCertificates(ca, 'The file of the authority of PostgreSQL');
  return { rejectUnauthorized: true, ...(ca === null ? {} : { ca }) };
}
