import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

import type { Engine, NodeSpec } from '../../engine.ts';
import { isInstalled } from '../../install/commands.ts';
import type { Requirement } from '../../install/requirements.ts';
import { knownHome, nodeHome, writeAtomically, type Site } from '../../site.ts';
import { httpGet } from '../../loopback-client.ts';
import { mediaCommand, mediaModels, type MediaServer } from './media-command.ts';

/** Toy engines for images and speech: real models behind the protocols of OpenAI. */

function keyFile(site: Site, node: NodeSpec): string {
  return path.join(knownHome(site, node.name), 'api-key');
}

interface MediaEngine {
  readonly server: MediaServer;
  readonly title: string;
  /** Offset from the port base. */
  readonly port: number;
  readonly needs: () => Promise<readonly Requirement[]>;
}

function mediaEngine({ server, title, port, needs }: MediaEngine): Engine {
  return {
    name: server,
    title,
    topologies: ['single'],
    stop: { signal: 'SIGTERM', timeoutMs: 5_000 },
    readyTimeoutMs: 180_000,
    needs,
    nodes: (site) => [{ name: server, index: 0, ports: { client: site.portBase + port } }],

    async configure({ site }, node) {
      nodeHome(site, node.name);
      const file = keyFile(site, node);
      if (!existsSync(file)) writeAtomically(file, `${randomBytes(24).toString('hex')}\n`, 0o600);
    },

    start({ site }, node) {
      const { file, args } = mediaCommand(server, {
        port: node.ports['client'] ?? 0,
        apiKeyFile: keyFile(site, node),
      });
      return { file, args };
    },

    async ready({ site }, node) {
      const url = `http://127.0.0.1:${node.ports['client']}`;
      // Only the engine of this site has this key.
      const key = readFileSync(keyFile(site, node), 'utf8').trim();
      await httpGet(`${url}/v1/models`, { authorization: `Bearer ${key}` });
    },

    endpoints({ site, nodes: [node] }) {
      if (node === undefined || !existsSync(keyFile(site, node))) return {};
      const apiKey = readFileSync(keyFile(site, node), 'utf8').trim();
      const url = `http://127.0.0.1:${node.ports['client']}`;
      return { [server]: { url, apiKey, model: mediaModels[server] } };
    },
  };
}

const needs = async (): Promise<[]> => [];
export const images = mediaEngine({ server: 'images', title: 'toy image model', port: 84, needs });

/** The recogniser and the player are for tests that check the speech. */
const speechPrograms: Readonly<Record<string, readonly string[]>> = {
  flite: ['flite'],
  pocketsphinx_continuous: ['pocketsphinx', 'pocketsphinx-en-us'],
  mpg123: ['mpg123'],
};

export const speech = mediaEngine({
  server: 'speech',
  title: 'flite 2.2 and LAME',
  port: 85,
  async needs() {
    const missing: string[] = [];
    for (const [program, packages] of Object.entries(speechPrograms)) {
      if (!(await isInstalled(program))) missing.push(...packages);
    }
    return missing.length === 0 ? [] : [{ kind: 'packages', from: 'release', packages: missing }];
  },
});
