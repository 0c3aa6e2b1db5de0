import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

import type { Topology } from './engine.ts';
import { Failure } from './failure.ts';
import { resolveStateDir, writeAtomically, type Site } from './site.ts';

/** Where a client reaches each engine. Everything is on 127.0.0.1. */
export interface Endpoints {
  readonly topology: Topology;
  readonly postgresUrl: string;
  readonly valkeyUrl: string;
  /** One address, or one for each node of the cluster. */
  readonly natsUrls: readonly string[];
  readonly restate: RestateEndpoints;
  /** Only when Incus has been started in this state folder. */
  readonly incus?: IncusEndpoints;
}

export interface RestateEndpoints {
  readonly ingressUrl: string;
  readonly adminUrl: string;
  /** Every node's addresses; the ones above are the first of these. */
  readonly ingressUrls: readonly string[];
  readonly adminUrls: readonly string[];
  /** `publickeyv1_…`: what a service checks the signature of Restate's calls against. */
  readonly identityPublicKey: string;
}

export interface IncusEndpoints {
  readonly url: string;
  readonly socketPath: string;
  /** PEM files of the client certificate that the daemon trusts, and of the daemon's own certificate. */
  readonly clientCertificateFile: string;
  readonly clientKeyFile: string;
  readonly serverCertificateFile: string;
  /** Alias of the small image that every instance here can be made from. */
  readonly imageAlias: string;
  readonly bridge: string;
}

interface EndpointsFile {
  /** What the last `up` asked for. */
  readonly active: Topology;
  readonly single?: Endpoints;
  readonly cluster?: Endpoints;
}

const fileName = 'endpoints.json';

function readFile(stateDir: string): EndpointsFile | null {
  const file = path.join(stateDir, fileName);
  if (!existsSync(file)) return null;
  // The tool itself writes this file, whole and by rename, so its shape is known.
  return JSON.parse(readFileSync(file, 'utf8')) as EndpointsFile;
}

/** The topology that a plain `up` continues with. */
export function activeTopology(site: Site): Topology {
  return readFile(site.stateDir)?.active ?? 'single';
}

export function writeEndpoints(site: Site, endpoints: Endpoints): void {
  const before = readFile(site.stateDir);
  const after: EndpointsFile = { ...before, active: endpoints.topology, [endpoints.topology]: endpoints };
  const text = `${JSON.stringify(after, null, 2)}\n`;
  if (before === null || `${JSON.stringify(before, null, 2)}\n` !== text) {
    writeAtomically(path.join(site.stateDir, fileName), text);
  }
}

/**
 * The addresses of the engines in a state folder (the repository's own by default), as the last `up` left
 * them. Safe to call at any time from any process: the file is only ever replaced as a whole. It says where
 * engines are, not that they run; `ensureUp` sees to that.
 */
export function readEndpoints(stateDir?: string, topology?: Topology): Endpoints {
  const folder = resolveStateDir(stateDir);
  const file = readFile(folder);
  const wanted = topology ?? file?.active ?? 'single';
  const endpoints = file?.[wanted];
  if (endpoints !== undefined) return endpoints;
  throw new Failure(
    `No ${wanted === 'cluster' ? 'cluster of engines' : 'engines'} have been started in ${folder}.`,
    `Run \`npm run services -- up${wanted === 'cluster' ? ' --cluster' : ''}\`.`,
  );
}
