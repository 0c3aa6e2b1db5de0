import path from 'node:path';

import type { Engine, NodeSpec } from '../engine.ts';
import { knownHome, nodeHome, writeAtomically, type Site } from '../site.ts';
import { httpGet } from '../loopback-client.ts';
import { caddyCommandIn, caddyFolder, isCaddyUnpacked } from './caddy-command.ts';

/** Configures only the admin API. Users of the engine load the rest. */
export function renderCaddyJson(adminPort: number): string {
  return `${JSON.stringify({ admin: { listen: `127.0.0.1:${adminPort}` } }, null, 2)}\n`;
}

function configFile(site: Site, node: NodeSpec): string {
  return path.join(knownHome(site, node.name), 'caddy.json');
}

export const caddy: Engine = {
  name: 'caddy',
  title: 'Caddy 2.11',
  topologies: ['single'],
  stop: { signal: 'SIGTERM', timeoutMs: 10_000 },
  readyTimeoutMs: 180_000,

  async needs(site) {
    if (isCaddyUnpacked(site.cacheDir)) return [];
    // Caddy 2.6 of Debian 12 closes every WebSocket when a hostname is added.
    return [{ kind: 'unpack', suite: 'forky', packages: ['caddy'], folder: caddyFolder(site.cacheDir) }];
  },

  nodes({ portBase }) {
    return [{ name: 'caddy', index: 0, ports: { admin: portBase + 86, https: portBase + 87 } }];
  },

  async configure({ site }, node) {
    nodeHome(site, node.name);
    writeAtomically(configFile(site, node), renderCaddyJson(node.ports['admin'] ?? 0));
  },

  start({ site }, node) {
    return caddyCommandIn(site.cacheDir, {
      configFile: configFile(site, node),
      home: knownHome(site, node.name),
    });
  },

  async ready(_group, node) {
    const url = `http://127.0.0.1:${node.ports['admin']}`;
    // Like browsers, fetch sends headers that make Caddy require the origin.
    await httpGet(`${url}/config/admin`, { origin: url });
  },

  endpoints({ site, nodes: [node] }) {
    if (node === undefined || !isCaddyUnpacked(site.cacheDir)) return {};
    const { admin, https } = node.ports;
    return { caddy: { adminUrl: `http://127.0.0.1:${admin}`, listen: `127.0.0.1:${https}` } };
  },
};
