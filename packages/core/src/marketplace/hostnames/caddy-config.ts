import { isIPv6 } from 'node:net';

/** The whole configuration of Caddy, from the names that there are. Pure. */

/** A name with HTTPS and where its requests go. */
export interface HostnameRoute {
  readonly name: string;
  /** An address, never a name: it was judged, and a name could stand for another one a moment later. */
  readonly address: string;
  readonly port: number;
}

export interface CaddySettings {
  /** Where its admin API is, as Caddy writes it: `127.0.0.1:2019`, `unix//run/caddy/admin.sock|0660`. */
  readonly adminListen: string;
  /** Where names are served: `:443`. */
  readonly listen: string;
  readonly certificateFile: string;
  readonly keyFile: string;
  /** Changes with the certificate, so that Caddy reads the file again; null if we cannot see the file. */
  readonly certificateMark: string | null;
}

/** WebSockets and other streams outlive a new configuration by this; those of machines that are gone break by themselves. */
const STREAM_CLOSE_DELAY = '24h';
const UPSTREAM = '{millrace.upstream}';
/** No address, so nothing could be connected to by mistake. */
const NO_UPSTREAM = 'nobody';

export type CaddyConfig = Readonly<Record<string, unknown>>;

/** The same names give the same configuration, whatever their order. */
export function caddyConfig(settings: CaddySettings, names: readonly HostnameRoute[]): CaddyConfig {
  const { certificateFile: certificate, keyFile: key, certificateMark } = settings;
  return {
    // Without this Caddy would leave where we reach it.
    admin: { listen: settings.adminListen },
    apps: {
      http: {
        servers: {
          instances: {
            listen: [settings.listen],
            // One certificate covers all names: nothing has to be asked for before a name works.
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

/** One handler for all names: its connections stay, and a configuration of thousands is read in a moment. */
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
