import { existsSync } from 'node:fs';
import path from 'node:path';

import type { Engine, Group, NodeSpec } from '../engine.ts';
import { knownHome, nodeHome, type Site } from '../site.ts';
import { httpGet } from '../loopback-client.ts';
import {
  ironicLaunch,
  ironicPackages,
  ironicUser,
  isIronicInstalled,
  prepareIronic,
  python,
  readPassword,
} from './ironic-command.ts';
import { ironicPaths } from './ironic-conf.ts';

// Ironic and, as a second node, the file server from which machines boot.

const engineNode = 'ironic';
const filesNode = 'ironic-files';

function filesFolder(site: Site): string {
  return path.join(knownHome(site, filesNode), 'files');
}

function urlOf({ nodes }: Group, name: string): string {
  const node = nodes.find((candidate) => candidate.name === name);
  return `http://127.0.0.1:${node?.ports['http']}`;
}

/** Checks our password and that a conductor is alive, without which Ironic does no work. */
async function assertConductorAlive(url: string, password: string): Promise<void> {
  const authorization = `Basic ${Buffer.from(`${ironicUser}:${password}`).toString('base64')}`;
  const text = await httpGet(`${url}/v1/conductors`, {
    authorization,
    'x-openstack-ironic-api-version': '1.82',
  });
  const { conductors } = JSON.parse(text) as { conductors: readonly { alive: boolean }[] };
  if (!conductors.some(({ alive }) => alive)) throw new Error('its conductor is not alive yet');
}

export const ironic: Engine = {
  name: 'ironic',
  title: 'Ironic 21.4',
  topologies: ['single'],
  onlyByName: true,
  stop: { signal: 'SIGTERM', timeoutMs: 10_000 },
  readyTimeoutMs: 180_000,

  async needs() {
    if (isIronicInstalled()) return [];
    return [{ kind: 'packages', from: 'release', packages: ironicPackages }];
  },

  nodes({ portBase }) {
    return [
      { name: engineNode, index: 0, ports: { http: portBase + 88 } },
      { name: filesNode, index: 0, ports: { http: portBase + 89 } },
    ];
  },

  async configure(group, node) {
    const { site } = group;
    const home = nodeHome(site, node.name);
    if (node.name === filesNode) return;
    nodeHome(site, filesNode);
    await prepareIronic(site.cacheDir, {
      home,
      port: node.ports['http'] ?? 0,
      filesFolder: filesFolder(site),
      filesUrl: urlOf(group, filesNode),
    });
  },

  start({ site }, node: NodeSpec) {
    if (node.name === engineNode) return ironicLaunch(knownHome(site, node.name));
    const where = ['--bind', '127.0.0.1', '--directory', filesFolder(site)];
    return { file: python, args: ['-m', 'http.server', String(node.ports['http']), ...where] };
  },

  async ready(group, node) {
    const url = urlOf(group, node.name);
    if (node.name === engineNode)
      await assertConductorAlive(url, readPassword(knownHome(group.site, engineNode)));
    else await httpGet(`${url}/`);
  },

  endpoints(group) {
    const home = knownHome(group.site, engineNode);
    const places = ironicPaths(home);
    if (!existsSync(places.htpasswd)) return {};
    return {
      ironic: {
        url: urlOf(group, engineNode),
        username: ironicUser,
        password: readPassword(home),
        imagesFolder: places.images,
        filesFolder: filesFolder(group.site),
        filesUrl: urlOf(group, filesNode),
      },
    };
  },
};
