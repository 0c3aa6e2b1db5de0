export interface PostgresServer {
  /** A name, an address without brackets, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
}

/** The parts of a PostgreSQL URL. The driver's parser knows neither several hosts nor which modes of TLS are safe. */
export interface PostgresUrl {
  /** At least one. The writable one is found by asking. */
  readonly servers: readonly PostgresServer[];
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** Whether a server without TLS, or whose certificate is not accepted, is refused. */
  readonly requiresTls: boolean;
  /** A PEM file with the accepted authorities, instead of those of the process. */
  readonly rootCertificateFile: string | null;
}

const defaultPort = 5432;
const urlFields =
  /^postgres(?:ql)?:\/\/(?<authority>[^/?#]*)(?:\/(?<database>[^?#]*))?(?:\?(?<query>[^#]*))?$/;
const hostAndPort = /^(?<host>\[[\d.:A-Fa-f]+\]|[^:[\]]+)(?::(?<port>\d{1,5}))?$/;

/** Throws an error without the URL, because it may contain a password. The message completes the sentence "it …". */
export function parsePostgresUrl(url: string): PostgresUrl {
  const { authority, database = '', query = '' } = urlFields.exec(url)?.groups ?? {};
  if (authority === undefined) throw new Error('it must start with postgres:// or postgresql://');
  const userEnd = authority.lastIndexOf('@');
  const [user = '', ...password] = authority.slice(0, Math.max(0, userEnd)).split(':');
  return {
    servers: authority
      .slice(userEnd + 1)
      .split(',')
      .map(parseServer),
    user: decode(user),
    password: decode(password.join(':')),
    database: decode(database),
    ...parseParameters(new URLSearchParams(query)),
  };
}

export function isUnixSocket({ host }: PostgresServer): boolean {
  return host.startsWith('/');
}

/** For messages: `db1.example.com:5432`. */
export function serverName(server: PostgresServer): string {
  if (isUnixSocket(server)) return server.host;
  return `${server.host.includes(':') ? `[${server.host}]` : server.host}:${server.port}`;
}

function parseServer(text: string): PostgresServer {
  const { host, port = String(defaultPort) } = hostAndPort.exec(text)?.groups ?? {};
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) {
    throw new Error('it must name a host, or several as host1:5432,host2:5432');
  }
  return { host: decode(host.replace(/^\[|\]$/g, '')), port: Number(port) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('it contains a % that is not an escape; write %25');
  }
}

function parseParameters(
  parameters: URLSearchParams,
): Pick<PostgresUrl, 'requiresTls' | 'rootCertificateFile'> {
  let requiresTls = false;
  let rootCertificateFile: string | null = null;
  for (const [name, value] of parameters) {
    if (name === 'sslmode') requiresTls = parseMode(value);
    else if (name === 'sslrootcert') rootCertificateFile = absolutePath(value);
    else if (name !== 'target_session_attrs' || !['read-write', 'primary'].includes(value)) {
      throw new Error(
        `its parameter ${parameterName(name)} is not supported; supported are sslmode, sslrootcert and target_session_attrs=read-write`,
      );
    }
  }
  return { requiresTls, rootCertificateFile };
}

function absolutePath(file: string): string {
  if (!file.startsWith('/')) throw new Error('its sslrootcert must be an absolute path');
  return file;
}

/** `require` and `verify-ca` of other clients accept the certificate of any server, so they are not accepted silently. */
function parseMode(mode: string): boolean {
  if (mode === 'verify-full') return true;
  if (mode === 'disable') return false;
  throw new Error(
    'its sslmode does not verify the server; use sslmode=verify-full, or sslmode=disable for a server on this machine',
  );
}

/** A wrongly escaped password may end up among the parameters. */
function parameterName(name: string): string {
  return /^[a-z_]{1,32}$/.test(name) ? name : '(unknown)';
}
