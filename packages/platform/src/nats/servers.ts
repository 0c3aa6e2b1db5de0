/** How a server asks for its user: with a name and a password, or with a token. */
export type NatsLogin =
  | { readonly kind: 'password'; readonly user: string; readonly password: string }
  | { readonly kind: 'token'; readonly token: string };

export interface NatsServers {
  /** `host:port`, without user and password. */
  readonly hosts: readonly string[];
  /** Whether the addresses are `tls://`. Then a server without TLS is refused. */
  readonly requiresTls: boolean;
  /** From the user information of the addresses. */
  readonly login: NatsLogin | null;
}

/**
 * Parses the addresses of one cluster. The client library ignores their scheme, and drops user and password.
 * Throws an error without secrets if the addresses differ in their scheme or their login: one connection has one of each.
 */
export function parseNatsServers(addresses: readonly string[]): NatsServers {
  const servers = addresses.map(parseServer);
  const [first] = servers;
  if (first === undefined) throw new Error('it names no server');
  if (servers.some(({ requiresTls }) => requiresTls !== first.requiresTls)) {
    throw new Error('it mixes tls:// and nats://; use one of them for all servers');
  }
  if (servers.some(({ login }) => JSON.stringify(login) !== JSON.stringify(first.login))) {
    throw new Error('its addresses have different users or passwords; use the same for all servers');
  }
  return { ...first, hosts: servers.map(({ host }) => host) };
}

function parseServer(address: string): Omit<NatsServers, 'hosts'> & { readonly host: string } {
  const url = new URL(address.includes('://') ? address : `nats://${address}`);
  const [user, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  return { host: url.host, requiresTls: url.protocol === 'tls:', login: loginOf(user, password) };
}

function loginOf(user: string, password: string): NatsLogin | null {
  if (user === '' && password === '') return null;
  return password === '' ? { kind: 'token', token: user } : { kind: 'password', user, password };
}
