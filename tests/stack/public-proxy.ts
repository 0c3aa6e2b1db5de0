import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { caddyFile, haproxyFile } from '@millrace/services';
import {
  eventually,
  freePorts,
  makeCertificate,
  servedFingerprint,
  startCommand,
  type TestProcess,
} from '@millrace/testing';
import { trustCertificates } from './private-servers.ts';

/** HAProxy or Caddy with the configuration of `deploy/proxy`, in front of two apis and two gateways that serve TLS. */
export interface PublicProxy extends AsyncDisposable {
  /** The one address of the interface. */
  readonly url: string;
  /** Its address without TLS, which only redirects. */
  readonly plainUrl: string;
  readonly apis: readonly [ProxiedServer, ProxiedServer];
  readonly gateways: readonly [ProxiedServer, ProxiedServer];
  start(): Promise<void>;
  /** Writes another certificate for the processes, and waits until these serve it. */
  replaceCertificate(servers: readonly ProxiedServer[]): Promise<void>;
  /** Names of the servers that HAProxy uses. Caddy does not report them. */
  readyServers(): Promise<readonly string[]>;
  output(): string;
}

export interface ProxiedServer {
  /** As in the configuration: `api-1`. */
  readonly name: string;
  readonly port: number;
  /** Its own address, without the proxy. */
  readonly url: string;
  /** The settings of an api or gateway behind the proxy. */
  readonly env: Readonly<Record<string, string>>;
}

export type ProxyKind = 'haproxy' | 'caddy';

export const folderOfProxyFiles = path.join(import.meta.dirname, '../../deploy/proxy');
/** The name in the certificates of apis and gateways. */
const UPSTREAM_NAME = 'millrace.internal';

export interface PublicProxyOptions {
  /** Changes the text of the shipped configuration, such as a limit that a test cannot reach. */
  readonly edit?: (configuration: string) => string;
}

export async function preparePublicProxy(
  kind: ProxyKind,
  { edit }: PublicProxyOptions = {},
): Promise<PublicProxy> {
  const folder = mkdtempSync(path.join(tmpdir(), 'mr-proxy-'));
  const [port = 0, plainPort = 0, adminPort = 0, ...ports] = await freePorts(7);
  const url = `https://localhost:${port}`;
  const { files, second, distrust } = await writeCertificates(kind, folder);
  const server = (name: string, nth: number): ProxiedServer => {
    const ownPort = ports[nth] ?? 0;
    return {
      name,
      port: ownPort,
      url: `https://127.0.0.1:${ownPort}`,
      env: {
        MILLRACE_HTTP_PORT: String(ownPort),
        MILLRACE_HTTP_PUBLIC_URL: url,
        MILLRACE_HTTP_TLS_CERT_FILE: files.upstream,
        MILLRACE_HTTP_TLS_KEY_FILE: files.upstreamKey,
        MILLRACE_HTTP_TRUSTED_PROXIES: '127.0.0.1',
        MILLRACE_HEALTH_TOKEN: 'the-health-token-of-this-test',
      },
    };
  };
  const apis = [server('api-1', 0), server('api-2', 1)] as const;
  const gateways = [server('gateway-1', 2), server('gateway-2', 3)] as const;
  const socket = path.join(folder, 'haproxy.sock');
  const command = commandOf(
    kind,
    { folder, port, plainPort, adminPort, socket, configuration: configurationOf(kind, folder, edit) },
    {
      CERTIFICATE: files.certificate,
      CERTIFICATE_KEY: files.certificateKey,
      CA_FILE: files.ca,
      UPSTREAM_NAME,
      ...Object.fromEntries(
        [...apis, ...gateways].map((each) => [variableOf(each), `127.0.0.1:${each.port}`]),
      ),
    },
  );
  let running: TestProcess | null = null;
  return {
    ...{ url, plainUrl: `http://localhost:${plainPort}`, apis, gateways },
    start: async () => {
      const started = await startCommand({ name: kind, folder, ...command });
      running = started;
      await eventually({ what: `${kind} to listen` }, () => {
        if (!started.running()) throw new Error(`${kind} ended:\n${started.output()}`);
        return isListening(port);
      });
    },
    replaceCertificate: async (servers) => {
      writeFileSync(files.upstream, second.certificate);
      writeFileSync(files.upstreamKey, second.key);
      for (const each of servers) {
        const what = `${each.name} to serve the new certificate`;
        await eventually({ what, timeoutMs: 120_000 }, async () => {
          return (await servedFingerprint(each.port)) === second.fingerprint;
        });
      }
    },
    readyServers: async () => (kind === 'haproxy' ? readUpServers(socket) : []),
    output: () => running?.output() ?? '',
    [Symbol.asyncDispose]: async () => {
      await running?.crash();
      distrust();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Waits until HAProxy sends requests to every api and gateway. */
export async function untilAllReady(proxy: PublicProxy): Promise<void> {
  const names = [...proxy.apis, ...proxy.gateways].map(({ name }) => name);
  await eventually({ what: 'HAProxy to use all processes', timeoutMs: 120_000 }, async () => {
    const ready = await proxy.readyServers();
    return names.every((name) => ready.includes(name));
  });
}

/** The certificate of the proxy, and the first of two that the processes behind it serve. */
async function writeCertificates(kind: ProxyKind, folder: string) {
  const own = await makeCertificate('proxy', { dnsNames: ['localhost'] });
  const upstream = { dnsNames: [UPSTREAM_NAME], addresses: ['127.0.0.1'] };
  const first = await makeCertificate('upstream 1', upstream);
  const second = await makeCertificate('upstream 2', upstream);
  const write = (name: string, text: string): string => {
    const file = path.join(folder, name);
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  };
  const files = {
    // HAProxy reads the key from the same file.
    certificate: write('public.pem', kind === 'haproxy' ? own.certificate + own.key : own.certificate),
    certificateKey: write('public.key', own.key),
    upstream: write('upstream.pem', first.certificate),
    upstreamKey: write('upstream.key', first.key),
    ca: write('ca.pem', first.certificate + second.certificate),
  };
  return { files, second, distrust: trustCertificates([own, first, second]) };
}

interface ProxyPlace {
  readonly folder: string;
  readonly port: number;
  readonly plainPort: number;
  readonly adminPort: number;
  /** Of HAProxy's statistics. */
  readonly socket: string;
  /** The configuration file. */
  readonly configuration: string;
}

/** The shipped file, or a copy of it that `edit` has changed. */
function configurationOf(kind: ProxyKind, folder: string, edit: PublicProxyOptions['edit']): string {
  const name = kind === 'haproxy' ? 'haproxy.cfg' : 'Caddyfile';
  const shipped = path.join(folderOfProxyFiles, name);
  if (edit === undefined) return shipped;
  const copy = path.join(folder, name);
  writeFileSync(copy, edit(readFileSync(shipped, 'utf8')));
  return copy;
}

function commandOf(kind: ProxyKind, place: ProxyPlace, variables: Readonly<Record<string, string>>) {
  const { folder, port, plainPort, adminPort, socket, configuration } = place;
  if (kind === 'haproxy') {
    const statistics = path.join(folder, 'statistics.cfg');
    writeFileSync(statistics, `global\n    stats socket ${socket} level user\n`);
    return {
      file: haproxyFile(),
      args: ['-db', '-f', configuration, '-f', statistics],
      env: { ...variables, HTTPS_BIND: `127.0.0.1:${port}`, HTTP_BIND: `127.0.0.1:${plainPort}` },
    };
  }
  return {
    file: caddyFile(),
    args: ['run', '--config', configuration, '--adapter', 'caddyfile'],
    env: {
      ...variables,
      PUBLIC_HOST: 'localhost',
      HTTPS_PORT: String(port),
      HTTP_PORT: String(plainPort),
      ADMIN: `localhost:${adminPort}`,
      HOME: folder,
      XDG_CONFIG_HOME: path.join(folder, 'config'),
      XDG_DATA_HOME: path.join(folder, 'data'),
    },
  };
}

/** `api-1` is API_1 in the configuration. */
function variableOf({ name }: Pick<ProxiedServer, 'name'>): string {
  return name.toUpperCase().replace('-', '_');
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Reads HAProxy's statistics: CSV with proxy, server and status. */
async function readUpServers(socketPath: string): Promise<readonly string[]> {
  const socket = connect(socketPath);
  socket.end('show stat -1 4 -1\n');
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  const [header = '', ...lines] = text.trim().split('\n');
  const columns = header.replace(/^# /, '').split(',');
  const [nameAt, statusAt] = [columns.indexOf('svname'), columns.indexOf('status')];
  const rows = lines.map((line) => line.split(','));
  return rows.filter((row) => row[statusAt] === 'UP').map((row) => row[nameAt] ?? '');
}
