import type { Socket } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import {
  credsAuthenticator,
  nkeyAuthenticator,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
  type Authenticator,
  type NodeConnectionOptions,
} from '@nats-io/transport-node';
import { parseNatsServers, type NatsLogin } from './servers.ts';
import type { NatsOptions } from './types.ts';

export function connectionOptions(options: NatsOptions): NodeConnectionOptions {
  const { hosts, requiresTls, login } = parseNatsServers(options.servers);
  const { ca = null, credentials = null, inboxPrefix } = options;
  const authenticator =
    credentials === null ? loginAuthenticator(login) : credentialsAuthenticator(credentials);
  return {
    servers: [...hosts],
    name: options.name,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 250,
    pingInterval: 5_000,
    maxPingOut: 2,
    // A refused credential can be accepted again, for example while servers reload their users one after the other.
    ignoreAuthErrorAbort: true,
    // Otherwise the client creates two errors with stacks for every request, which costs as much as the rest of it.
    noAsyncTraces: true,
    ...(inboxPrefix === undefined ? {} : { inboxPrefix }),
    // With `tls` the client refuses a server without TLS. Without it, it ignores servers that others announce, because they may be
    // on other machines.
    ...(requiresTls ? { tls: tlsOptions(ca) } : { ignoreClusterUpdates: true }),
    ...(authenticator === null ? {} : { authenticator }),
  };
}

/** The client passes all of them on to Node. */
function tlsOptions(ca: string | null): NonNullable<NodeConnectionOptions['tls']> {
  const options = { checkServerIdentity: checkIdentity, ...(ca === null ? {} : { ca }) };
  return options;
}

/** The client names no server if its address is an IP address, and Node would then check the name `localhost`. */
function checkIdentity(
  this: { readonly servername?: string; readonly socket?: Socket },
  host: string,
  certificate: PeerCertificate,
): Error | undefined {
  const address = this.socket?.remoteAddress;
  const isNamed = this.servername !== undefined && this.servername !== '';
  return checkServerIdentity(isNamed || address === undefined ? host : address, certificate);
}

function loginAuthenticator(login: NatsLogin | null): Authenticator | null {
  if (login === null) return null;
  return login.kind === 'token'
    ? tokenAuthenticator(login.token)
    : usernamePasswordAuthenticator(login.user, login.password);
}

/** The seed of an nkey, or the text of a `.creds` file. Throws an error without the text if it is neither. */
function credentialsAuthenticator(credentials: string): Authenticator {
  const text = new TextEncoder().encode(`${credentials.replaceAll('\r\n', '\n').trim()}\n`);
  const isSeed = /^\s*SU[A-Z2-7]+\s*$/.test(credentials);
  const authenticator = isSeed ? nkeyAuthenticator(text.slice(0, -1)) : credsAuthenticator(text);
  try {
    authenticator('any nonce');
  } catch {
    throw new Error(
      'The NATS credentials cannot be read. Set MILLRACE_NATS_CREDENTIALS to the seed of a user (SU…) or to the text of a .creds file.',
    );
  }
  return authenticator;
}
