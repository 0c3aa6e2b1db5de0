import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

import type { Engine, NodeSpec } from '../../engine.ts';
import { knownHome, nodeHome, writeAtomically, type Site } from '../../site.ts';
import { httpGet } from '../../loopback-client.ts';
import { chatModel, isLlamaUnpacked, llamaCommandIn, llamaFolder } from './llama-command.ts';

/** Includes every library that it loads, because those of Debian 12 are too old. */
const packages = [
  'llama.cpp-tools',
  'libllama0',
  'libggml0',
  'libc6',
  'libgcc-s1',
  'libgomp1',
  'libssl3t64',
  'libstdc++6',
  'libzstd1',
  'zlib1g',
];

function keyFile(site: Site, node: NodeSpec): string {
  return path.join(knownHome(site, node.name), 'api-key');
}

export const llama: Engine = {
  name: 'llama',
  title: 'llama.cpp server 0.7',
  topologies: ['single'],
  stop: { signal: 'SIGTERM', timeoutMs: 10_000 },
  readyTimeoutMs: 180_000,

  async needs(site) {
    if (isLlamaUnpacked(site.cacheDir)) return [];
    return [{ kind: 'unpack', suite: 'forky', packages, folder: llamaFolder(site.cacheDir) }];
  },

  nodes(site) {
    return [{ name: 'llama', index: 0, ports: { client: site.portBase + 80 } }];
  },

  async configure({ site }, node) {
    nodeHome(site, node.name);
    const file = keyFile(site, node);
    if (!existsSync(file)) writeAtomically(file, `${randomBytes(24).toString('hex')}\n`, 0o600);
  },

  start({ site }, node) {
    const apiKeyFile = keyFile(site, node);
    const port = node.ports['client'] ?? 0;
    const { folder, file, args } = llamaCommandIn(site.cacheDir, { port, apiKeyFile });
    return { file: 'env', args: ['--chdir', folder, file, ...args] };
  },

  async ready({ site }, node) {
    const url = `http://127.0.0.1:${node.ports['client']}`;
    await httpGet(`${url}/health`);
    // Only the engine of this site has this key.
    const key = readFileSync(keyFile(site, node), 'utf8').trim();
    await httpGet(`${url}/slots`, { authorization: `Bearer ${key}` });
  },

  endpoints({ site, nodes: [node] }) {
    if (node === undefined || !existsSync(keyFile(site, node))) return {};
    const apiKey = readFileSync(keyFile(site, node), 'utf8').trim();
    return { llama: { url: `http://127.0.0.1:${node.ports['client']}`, apiKey, model: chatModel.name } };
  },
};
