import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import type { Engine, Group, NodeSpec } from '../engine.ts';
import { run } from '../processes.ts';
import { knownHome, nodeHome, type Site } from '../site.ts';
import { exchangeText, httpGet } from '../loopback-client.ts';

const suite = 'forky';
const oldest = [2, 15] as const;

function unpackedFolder(site: Site): string {
  return path.join(site.cacheDir, 'nats-server');
}

function unpackedBinary(site: Site): string {
  return path.join(unpackedFolder(site), 'usr', 'sbin', 'nats-server');
}

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
}): string {
  const { name, home, ports, routePorts } = options;
  const cluster =
    routePorts.length === 0
      ? []
      : [
          'cluster {',
          '  name: millrace',
          `  listen: "127.0.0.1:${ports['route']}"`,
          `  routes: [${routePorts.map((port) => `"nats://127.0.0.1:${port}"`).join(', ')}]`,
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
    '',
  ].join('\n');
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
    if (existsSync(unpackedBinary(site))) return [];
    const installed = await run('nats-server', ['--version']);
    if (installed.code === 0 && isRecentNats(installed.stdout)) return [];
    return [{ kind: 'unpack', suite, packages: ['nats-server'], folder: unpackedFolder(site) }];
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
    writeFileSync(path.join(home, 'nats.conf'), renderNatsConf({ name, home, ports, routePorts }));
  },

  start({ site }, node) {
    const file = existsSync(unpackedBinary(site)) ? unpackedBinary(site) : 'nats-server';
    return { file, args: ['--config', path.join(knownHome(site, node.name), 'nats.conf')] };
  },

  async ready(_group: Group, node) {
    await httpGet(`http://127.0.0.1:${node.ports['monitor']}/healthz`);
    await checkJetStream(node);
  },

  endpoints({ nodes }) {
    return { natsUrls: nodes.map((node) => `nats://127.0.0.1:${node.ports['client']}`) };
  },
};
