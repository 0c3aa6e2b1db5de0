import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

import type { Topology } from './engine.ts';
import { Failure } from './failure.ts';
import { resolveStateDir, writeAtomically, type Site } from './site.ts';

/** Where a client reaches each engine: on 127.0.0.1, but for the members of an Incus cluster. */
export interface Endpoints {
  readonly postgresUrl: string;
  readonly valkeyUrl: string;
  /** One address, or one for each node of the cluster. */
  readonly natsUrls: readonly string[];
  readonly restate: RestateEndpoints;
  /** Only when Incus has been started in this state folder. */
  readonly incus?: IncusEndpoints;
  /** Only when a cluster of Incus has been formed in this state folder; beside a single daemon, if there is one. */
  readonly incusCluster?: IncusClusterEndpoints;
  /** Only when it has been started in this state folder. */
  readonly incusHost?: IncusHostEndpoints;
  /** Only when Ironic has been started in this state folder. */
  readonly ironic?: IronicEndpoints;
  /** Only when llama-server has been started in this state folder. */
  readonly llama?: LlamaEndpoints;
  /** Only when they have been started in this state folder. */
  readonly images?: MediaEndpoints;
  readonly speech?: MediaEndpoints;
  /** Only when Caddy is installed. */
  readonly caddy?: CaddyEndpoints;
}

export interface CaddyEndpoints {
  /** Where its configuration is read and replaced. */
  readonly adminUrl: string;
  /** Where a configuration may have it listen: kept free for that. */
  readonly listen: string;
}

/** One of our small engines: pictures by `/v1/images/generations`, speech by `/v1/audio/speech`. */
export interface MediaEndpoints {
  readonly url: string;
  /** Asked for by everything but `/health`. */
  readonly apiKey: string;
  /** The name of the model it serves. */
  readonly model: string;
}

export interface LlamaEndpoints {
  readonly url: string;
  /** Asked for by everything but `/health` and `/v1/models`. */
  readonly apiKey: string;
  /** The name of the model it serves. */
  readonly model: string;
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

/** Three hosts as one cluster. Hosts and GPUs are simulated; daemons, containers and networks are real. */
export interface IncusClusterEndpoints {
  readonly members: readonly IncusMember[];
  /** PEM files of the client certificate that every member trusts, and of the certificate that all of them show. */
  readonly clientCertificateFile: string;
  readonly clientKeyFile: string;
  readonly serverCertificateFile: string;
  /** Aliases of the small image, and of the one with an SSH server in it. */
  readonly imageAlias: string;
  readonly sshImageAlias: string;
  /** The name of the bridge that every member has for its containers. */
  readonly network: string;
}

/** A daemon on a host of its own, which trusts nobody yet. Host and GPUs are simulated; daemon, containers and network are real. */
export interface IncusHostEndpoints {
  readonly url: string;
  /** The host's own address, which any process of this machine reaches; proxy devices listen on it. */
  readonly address: string;
  /** Whoever opens it is the host's administrator. */
  readonly socketPath: string;
  /** PEM. */
  readonly serverCertificateFile: string;
  /** Aliases, in the project `default`, of the small image and of the one with an SSH server in it. */
  readonly imageAlias: string;
  readonly sshImageAlias: string;
  readonly network: string;
  readonly storagePool: string;
}

/** One Ironic with one user who may do everything. */
export interface IronicEndpoints {
  readonly url: string;
  /** For HTTP's basic authentication. */
  readonly username: string;
  readonly password: string;
  /** Kernels, ramdisks and images that may be named by a URL with `file:`. */
  readonly imagesFolder: string;
  /** What lies in this folder is served at this address, for machines. */
  readonly filesFolder: string;
  readonly filesUrl: string;
}

export interface IncusMember {
  readonly name: string;
  readonly url: string;
  /** The host's own address, which any process of this machine reaches; proxy devices listen on it. */
  readonly address: string;
  readonly socketPath: string;
}

interface EndpointsFile {
  /** By engine, what the last `up` of it asked for. */
  readonly active: Readonly<Record<string, Topology>>;
  /** Every engine as it is active. */
  readonly current?: Endpoints;
  readonly single?: Endpoints;
  readonly cluster?: Endpoints;
}

const fileName = 'endpoints.json';

function readFile(stateDir: string): EndpointsFile | null {
  const file = path.join(stateDir, fileName);
  if (!existsSync(file)) return null;
  // The tool itself writes this file, whole and by rename, so its shape is known.
  const parsed = JSON.parse(readFileSync(file, 'utf8')) as EndpointsFile | EarlierFile;
  return isEarlier(parsed) ? upgraded(parsed) : parsed;
}

/** As the tool wrote it when all engines had to have the same topology. */
interface EarlierFile {
  readonly active: Topology;
  readonly single?: Endpoints;
  readonly cluster?: Endpoints;
}

function isEarlier(file: EndpointsFile | EarlierFile): file is EarlierFile {
  return typeof file.active === 'string';
}

function upgraded(file: EarlierFile): EndpointsFile {
  const { active: topology, ...rest } = file;
  const current = file[topology];
  const active = { nats: topology, restate: topology };
  return { ...rest, active, ...(current && { current }) };
}

/** The topology that a plain `up` continues with. */
export function activeTopology(site: Site, engineName: string): Topology {
  return readFile(site.stateDir)?.active[engineName] ?? 'single';
}

export type EndpointsChange = Required<Pick<EndpointsFile, 'active' | 'current'>> &
  Pick<EndpointsFile, Topology>;

/** Topologies that are not mentioned stay as they were. */
export function writeEndpoints(site: Site, change: EndpointsChange): void {
  const before = readFile(site.stateDir);
  const after: EndpointsFile = { ...before, ...change };
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
  const endpoints = file?.[topology ?? 'current'];
  if (endpoints !== undefined) return endpoints;
  throw new Failure(
    `No ${topology === 'cluster' ? 'cluster of engines has' : 'engines have'} been started in ${folder}.`,
    `Run \`npm run services -- up${topology === 'cluster' ? ' --cluster' : ''}\`.`,
  );
}
