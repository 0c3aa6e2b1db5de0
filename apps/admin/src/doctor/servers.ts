import {
  httpConfig,
  natsConfig,
  optionalLeaseValkeyConfig,
  postgresConfig,
  restateConfig,
  valkeyConfig,
} from '@millrace/platform/config';
import { parsePostgresUrl } from '@millrace/platform/db';
import { hostOf } from '@millrace/platform/net';
import { upstreamName } from '../init/layout.ts';
import type { TlsStart } from './check.ts';
import {
  firstSettingsOf,
  processes,
  roles,
  settingsOf,
  type Installation,
  type Role,
} from './installation.ts';

/** The addresses of the engines and processes, from the settings. */

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** A server with a certificate. */
export interface TlsServer extends Address {
  /** The component of its findings. */
  readonly name: string;
  readonly title: string;
  readonly start: TlsStart;
  /** The name or address that clients verify. */
  readonly certificateName: string;
  readonly certificateFile: string | null;
  readonly keyFile: string | null;
  /** The command that loads a changed file. */
  readonly reload: string;
  /** Whether public authorities may have issued it. */
  readonly isPublic: boolean;
}

/** The name in the certificates of api and gateway, which the proxy verifies. */
export const verifiedName = ({ proxy }: Installation): string => proxy['UPSTREAM_NAME'] ?? upstreamName;

export function postgresAddresses(installation: Installation): readonly Address[] {
  const url = firstSettingsOf([postgresConfig], installation, ['api', 'worker', 'admin'])?.postgres.url;
  return url === undefined ? [] : parsePostgresUrl(url).servers.filter(({ host }) => !host.startsWith('/'));
}

export function natsAddresses(installation: Installation): readonly Address[] {
  const urls = firstSettingsOf([natsConfig], installation, processes)?.nats.urls ?? [];
  return urls.map((url) => addressOf(url, 4222));
}

export function addressOf(url: string, defaultPort: number): Address {
  const parsed = new URL(url);
  return { host: hostOf(parsed), port: parsed.port === '' ? defaultPort : Number(parsed.port) };
}

export function tlsServers(installation: Installation): readonly TlsServer[] {
  return [...engineServers(installation), ...processServers(installation), ...publicServer(installation)];
}

function engineServers(installation: Installation): readonly TlsServer[] {
  const ofFolder = (name: string) => ({
    name,
    certificateFile: installation.path(name, 'server.pem'),
    keyFile: installation.path(name, 'server.key'),
    isPublic: false,
  });
  const server = (title: string, start: TlsStart, reload: string) => (address: Address) => ({
    ...ofFolder(title.toLowerCase()),
    ...address,
    title,
    start,
    reload,
    certificateName: address.host,
  });
  const valkeyUrl = roles
    .map((role) => valkeyOf(installation, role)?.url)
    .find((url) => url !== undefined && url.startsWith('rediss:'));
  const restate = settingsOf([restateConfig], installation, 'worker')?.restate;
  const restateUrl = restate?.ingressUrl.startsWith('https:') === true ? restate.ingressUrl : null;
  const reloadValkey = '`systemctl restart millrace-valkey`';
  // On three machines, the internal proxy leads to the Valkey in use, which may be another machine's.
  const { SELF: ownAddress = null } = installation.internal;
  const postgresUnit = ownAddress === null ? 'postgresql' : 'millrace-patroni';
  const ownValkey = ownAddress === null ? {} : { host: ownAddress };
  return [
    ...postgresAddresses(installation).map(
      server('PostgreSQL', 'postgres', `\`systemctl reload ${postgresUnit}\``),
    ),
    ...natsAddresses(installation).map(server('NATS', 'nats', '`systemctl reload millrace-nats`')),
    ...(valkeyUrl === undefined
      ? []
      : [server('Valkey', 'direct', reloadValkey)({ ...addressOf(valkeyUrl, 6379), ...ownValkey })]),
    ...(restateUrl === null
      ? []
      : [
          {
            ...server('Restate', 'direct', '`systemctl reload haproxy`')(addressOf(restateUrl, 443)),
            certificateFile: null,
            keyFile: null,
          },
        ]),
  ].map((each) => (each.name === 'postgresql' ? { ...each, ...ofFolder('postgres') } : each));
}

export interface ValkeyAccess {
  readonly url: string;
  readonly ca: string | null;
  readonly setting: string;
}

/** Workers may have none. `admin` may have the user `all`, who can read the settings of the server. */
export function valkeyOf(installation: Installation, role: Role): ValkeyAccess | null {
  if (role === 'api' || role === 'admin') {
    const valkey = settingsOf([valkeyConfig], installation, role)?.valkey;
    return valkey === undefined ? null : { url: valkey.url, ca: valkey.ca, setting: 'MILLRACE_VALKEY_URL' };
  }
  const lease = settingsOf([optionalLeaseValkeyConfig], installation, role)?.leaseValkey;
  if (lease === undefined || lease.url === null) return null;
  return { url: lease.url, ca: lease.ca, setting: 'MILLRACE_POT_VALKEY_URL' };
}

function processServers(installation: Installation): readonly TlsServer[] {
  return (['api', 'gateway'] as const).flatMap((role) => {
    const http = settingsOf([httpConfig], installation, role)?.http;
    if (http?.tlsCertFile === undefined || http.tlsCertFile === null) return [];
    return [
      {
        name: role,
        title: role === 'api' ? 'the api' : 'the gateway',
        host: reachable(http.host),
        port: http.port,
        start: 'direct' as const,
        certificateName: verifiedName(installation),
        certificateFile: http.tlsCertFile,
        keyFile: http.tlsKeyFile,
        reload: `the process does it within ten seconds; otherwise \`systemctl restart millrace-${role}\``,
        isPublic: false,
      },
    ];
  });
}

/** An address on which a server listens, as an address to connect to. */
export function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

function publicServer(installation: Installation): readonly TlsServer[] {
  const publicUrl = settingsOf([httpConfig], installation, 'api')?.http.publicUrl ?? null;
  if (publicUrl === null || !publicUrl.startsWith('https:')) return [];
  const file = installation.proxy['CERTIFICATE'] ?? null;
  const address = addressOf(publicUrl, 443);
  return [
    {
      ...address,
      name: 'public',
      title: 'the public address',
      start: 'direct',
      certificateName: address.host,
      certificateFile: file,
      keyFile: file,
      reload: '`systemctl reload millrace-proxy`',
      isPublic: true,
    },
  ];
}
