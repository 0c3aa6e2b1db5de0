import { isIPv6 } from 'node:net';

/** Builds the whole Caddy configuration from the hostnames. Pure. */

export interface HostnameRoute {
  readonly name: string;
  /** An address, never a name: it was checked, and a name could resolve differently a moment later. */
  readonly address: string;
  readonly port: number;
}

export interface CaddySettings {
  /** Address of the admin API in Caddy's notation: `127.0.0.1:2019`, `unix//run/caddy/admin.sock|0660`. */
  readonly adminListen: string;
  /** Address that serves hostnames, such as `:443`. */
  readonly listen: string;
  readonly certificateFile: string;
  readonly keyFile: string;
  /** Changes with the certificate, so that Caddy reads the file again; null if the file is not readable here. */
  readonly certificateMark: string | null;
}

/** How long WebSockets and other streams survive a new configuration. */
const STREAM_CLOSE_DELAY = '24h';
const UPSTREAM = '{millrace.upstream}';
/** Not an address, so that no connection is possible by mistake. */
const NO_UPSTREAM = 'nobody';

export type CaddyConfig = Readonly<Record<string, unknown>>;

/** Independent of the order of the names. */
export function caddyConfig(settings: CaddySettings, names: readonly HostnameRoute[]): CaddyConfig {
  const { certificateFile: certificate, keyFile: key, certificateMark } = settings;
  return {
    // Without this, Caddy would move its admin API to the default address.
    admin: { listen: settings.adminListen },
    apps: {
      http: {
        servers: {
          instances: {
            listen: [settings.listen],
            // One certificate covers all names, so Caddy must not request any.
            automatic_https: { disable: true },
            tls_connection_policies: [{}],
            routes: routesTo(names),
            errors: { routes: [{ handle: [staticResponse('{http.error.status_code}', noUpstreamText)] }] },
          },
        },
      },
      tls: {
        certificates: {
          load_files: [
            { certificate, key, ...(certificateMark === null ? {} : { tags: [certificateMark] }) },
          ],
        },
      },
    },
  };
}

const unknownHostnameText =
  'There is no instance of this name that is online, or it has not opened this port.\n';
const noUpstreamText = 'Nothing answers at this port of the instance.\n';

function staticResponse(status: string | number, body: string): object {
  return { handler: 'static_response', status_code: status, body };
}

/** One handler for all names keeps upstream connections and makes large configurations fast to load. */
function routesTo(names: readonly HostnameRoute[]): readonly object[] {
  const mappings = names
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ name, address, port }) => ({ input: name, outputs: [dialOf(address, port)] }));
  return [
    {
      handle: [
        {
          handler: 'map',
          source: '{http.request.host}',
          destinations: [UPSTREAM],
          mappings,
          defaults: [NO_UPSTREAM],
        },
      ],
    },
    { match: [{ vars: { [UPSTREAM]: [NO_UPSTREAM] } }], handle: [staticResponse(404, unknownHostnameText)] },
    {
      handle: [
        {
          handler: 'reverse_proxy',
          upstreams: [{ dial: UPSTREAM }],
          stream_close_delay: STREAM_CLOSE_DELAY,
        },
      ],
    },
  ];
}

function dialOf(address: string, port: number): string {
  return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
}
