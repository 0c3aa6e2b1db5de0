import { writeFileSync } from 'node:fs';
import path from 'node:path';

import type { Engine, Group, NodeSpec } from '../engine.ts';
import { run } from '../processes.ts';
import { knownHome, nodeHome } from '../site.ts';
import { isNatsUnpacked, natsCommand, natsFolder } from './nats-command.ts';
import { exchangeText, httpGet } from '../loopback-client.ts';
import { natsRolePermissions } from '../secure/nats-permissions.ts';
import { natsAuthorities, renderNatsAuthorities } from '../secure/nats-tokens.ts';
import { caFile, ensureServerCertificate, type ServerTlsFiles } from '../secure/site-tls.ts';

const suite = 'forky';
const oldest = [2, 15] as const;

/** Whether `nats-server: v2.15.1` is recent enough. The 2.9 of Debian 12 is not. */
export function isRecentNats(versionLine: string): boolean {
  const [, major, minor] = /v(\d+)\.(\d+)\./u.exec(versionLine) ?? [];
  if (major === undefined || minor === undefined) return false;
  return Number(major) > oldest[0] || (Number(major) === oldest[0] && Number(minor) >= oldest[1]);
}

export function renderNatsConf(options: {
  readonly name: string;
  readonly home: string;
  readonly ports: NodeSpec['ports'];
  readonly routePorts: readonly number[];
  readonly secure?: SecureNats | undefined;
}): string {
  const { name, home, ports, routePorts, secure } = options;
  const cluster =
    routePorts.length === 0
      ? []
      : [
          'cluster {',
          '  name: millrace',
          `  listen: "127.0.0.1:${ports['route']}"`,
          `  routes: [${routePorts.map((port) => `"nats://127.0.0.1:${port}"`).join(', ')}]`,
          ...(secure === undefined ? [] : renderTls(secure, { isMutual: true })),
          '}',
        ];
  return [
    `server_name: ${JSON.stringify(name)}`,
    `listen: "127.0.0.1:${ports['client']}"`,
    `http: "127.0.0.1:${ports['monitor']}"`,
    'jetstream {',
    `  store_dir: ${JSON.stringify(path.join(home, 'jetstream'))}`,
    // Without `always`, a power failure can lose acknowledged messages.
    '  sync_interval: always',
    '  max_file_store: 10GB',
    '  max_memory_store: 256MB',
    '}',
    ...cluster,
    ...(secure === undefined ? [] : [...renderTls(secure, { isMutual: false }), ...secure.authorities]),
    '',
  ].join('\n');
}

interface SecureNats {
  readonly tls: ServerTlsFiles;
  readonly caFile: string;
  /** Lines that name the accounts whose users are accepted. */
  readonly authorities: readonly string[];
}

function renderTls(
  { tls, caFile: ca }: SecureNats,
  { isMutual }: { readonly isMutual: boolean },
): readonly string[] {
  return [
    'tls {',
    `  cert_file: ${JSON.stringify(tls.certificateFile)}`,
    `  key_file: ${JSON.stringify(tls.keyFile)}`,
    ...(isMutual ? [`  ca_file: ${JSON.stringify(ca)}`, '  verify: true'] : []),
    '}',
  ];
}

/** A secure server refuses clients without a token, so its monitoring port is asked. */
async function checkMonitor(node: NodeSpec): Promise<void> {
  const url = `http://127.0.0.1:${node.ports['monitor']}`;
  const { server_name: name } = JSON.parse(await httpGet(`${url}/varz`)) as { server_name?: string };
  if (name !== node.name) throw new Error(`the server on this port is called ${name}`);
}

/** Requests the JetStream account information, as client libraries do first. */
async function checkJetStream(node: NodeSpec): Promise<void> {
  const inbox = '_INBOX.millrace.services';
  const received = await exchangeText({
    port: node.ports['client'] ?? 0,
    send: [
      'CONNECT {"verbose":false,"pedantic":false,"lang":"millrace","version":"1"}\r\n',
      `SUB ${inbox} 1\r\nPUB $JS.API.INFO ${inbox} 0\r\n\r\n`,
    ],
    until: (text) => /\r\nMSG [^\r]*\r\n\{[^\r]*\}\r\n/u.test(text) || text.includes('-ERR'),
  });
  const name = /"server_name":"([^"]*)"/u.exec(received)?.[1];
  if (name !== node.name) throw new Error(`the server on this port is called ${name}`);
  const failure = /"error":\{[^}]*\}/u.exec(received)?.[0] ?? /-ERR[^\r]*/u.exec(received)?.[0];
  if (failure !== undefined) throw new Error(`JetStream answered ${failure}`);
}

export const nats: Engine = {
  name: 'nats',
  title: 'NATS 2.15 with JetStream',
  topologies: ['single', 'cluster'],
  stop: { signal: 'SIGTERM', timeoutMs: 15_000 },
  readyTimeoutMs: 180_000,

  async needs(site) {
    if (isNatsUnpacked(site.cacheDir)) return [];
    const installed = await run('nats-server', ['--version']);
    if (installed.code === 0 && isRecentNats(installed.stdout)) return [];
    return [{ kind: 'unpack', suite, packages: ['nats-server'], folder: natsFolder(site.cacheDir) }];
  },

  nodes({ portBase }, topology) {
    if (topology === 'single') {
      return [{ name: 'nats', index: 0, ports: { client: portBase + 20, monitor: portBase + 30 } }];
    }
    return [1, 2, 3].map((index) => ({
      name: `nats-${index}`,
      index,
      ports: { client: portBase + 20 + index, monitor: portBase + 30 + index, route: portBase + 24 + index },
    }));
  },

  async configure({ site, nodes, topology }, node) {
    const home = nodeHome(site, node.name);
    const { name, ports } = node;
    const peers = topology === 'single' ? [] : nodes.filter((other) => other !== node);
    const routePorts = peers.map((peer) => peer.ports['route'] ?? 0);
    const secure =
      site.secure === true
        ? {
            tls: await ensureServerCertificate(site, home),
            caFile: caFile(site),
            authorities: renderNatsAuthorities(natsAuthorities(site)),
          }
        : undefined;
    const text = renderNatsConf({ name, home, ports, routePorts, secure });
    writeFileSync(path.join(home, 'nats.conf'), text);
  },

  start({ site }, node) {
    return natsCommand(path.join(knownHome(site, node.name), 'nats.conf'), site.cacheDir);
  },

  async ready({ site }: Group, node) {
    await httpGet(`http://127.0.0.1:${node.ports['monitor']}/healthz`);
    await (site.secure === true ? checkMonitor(node) : checkJetStream(node));
  },

  async reloadCertificate(_group, _node, pid) {
    process.kill(pid, 'SIGHUP');
  },

  endpoints({ site, nodes }) {
    const scheme = site.secure === true ? 'tls' : 'nats';
    return { natsUrls: nodes.map((node) => `${scheme}://127.0.0.1:${node.ports['client']}`) };
  },
  secureEndpoints({ site }) {
    const accountSeed = Buffer.from(natsAuthorities(site).account.getSeed()).toString('utf8');
    return { nats: { accountSeed, permissions: natsRolePermissions() } };
  },
};
