import { writeFileSync } from 'node:fs';
import path from 'node:path';

import type { Engine } from '../engine.ts';
import { isInstalled } from '../install/commands.ts';
import { knownHome, nodeHome } from '../site.ts';
import { exchangeText } from '../loopback-client.ts';

export function renderValkeyConf(home: string, port: number): string {
  return [
    'bind 127.0.0.1',
    `port ${port}`,
    `dir ${JSON.stringify(home)}`,
    // Valkey must restart empty rather than stale, and must never evict keys.
    'appendonly no',
    'save ""',
    'maxmemory 256mb',
    'maxmemory-policy noeviction',
    // The tool identifies its process by the configuration file in the command line.
    'set-proc-title no',
    'daemonize no',
    '',
  ].join('\n');
}

export const valkey: Engine = {
  name: 'valkey',
  title: 'Valkey 8',
  topologies: ['single'],
  stop: { signal: 'SIGTERM', timeoutMs: 10_000 },
  readyTimeoutMs: 180_000,

  async needs() {
    if (await isInstalled('valkey-server')) return [];
    return [{ kind: 'packages', from: 'backports', packages: ['valkey-server', 'valkey-tools'] }];
  },

  nodes(site) {
    return [{ name: 'valkey', index: 0, ports: { client: site.portBase + 10 } }];
  },

  async configure({ site }, node) {
    const home = nodeHome(site, node.name);
    writeFileSync(path.join(home, 'valkey.conf'), renderValkeyConf(home, node.ports['client'] ?? 0));
  },

  start({ site }, node) {
    return { file: 'valkey-server', args: [path.join(knownHome(site, node.name), 'valkey.conf')] };
  },

  async ready({ site }, node) {
    const response = await exchangeText({
      port: node.ports['client'] ?? 0,
      send: ['PING\r\nINFO server\r\n'],
      until: (text) => text.includes('config_file:') && text.endsWith('\r\n'),
    });
    const own = path.join(knownHome(site, node.name), 'valkey.conf');
    if (!response.startsWith('+PONG')) throw new Error(`answered ${response.split('\r\n')[0]} to PING`);
    if (!response.includes(`config_file:${own}\r\n`)) {
      throw new Error('the server on this port has another configuration file');
    }
  },

  endpoints({ nodes: [node] }) {
    return { valkeyUrl: `redis://127.0.0.1:${node?.ports['client']}` };
  },
};
