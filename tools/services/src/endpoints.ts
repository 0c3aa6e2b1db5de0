import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

import type { Topology } from './engine.ts';
import { Failure } from './failure.ts';
import type { SecureEndpoints } from './secure/secure-endpoints.ts';
import { resolveStateDir, writeAtomically, type Site } from './site.ts';

/** Addresses of the engines, on 127.0.0.1 except for Incus hosts. Optional entries are missing until the engine was started. */
export interface Endpoints {
  readonly postgresUrl: string;
  readonly valkeyUrl: string;
  readonly natsUrls: readonly string[];
  readonly restate: RestateEndpoints;
  /** Set if the site is secure, so that engines require TLS and credentials. */
  readonly secure?: SecureEndpoints;
  readonly incus?: IncusEndpoints;
  /** Set once an Incus cluster was formed; a single daemon may run beside it. */
  readonly incusCluster?: IncusClusterEndpoints;
  readonly incusHost?: IncusHostEndpoints;
  readonly ironic?: IronicEndpoints;
  readonly llama?: LlamaEndpoints;
  readonly images?: MediaEndpoints;
  readonly speech?: MediaEndpoints;
  readonly caddy?: CaddyEndpoints;
}

export interface CaddyEndpoints {
  readonly adminUrl: string;
  /** Address reserved for the listeners of a loaded configuration. */
  readonly listen: string;
}

/** A toy engine: images at `/v1/images/generations`, or speech at `/v1/audio/speech`. */
export interface MediaEndpoints {
  readonly url: string;
  /** Required by every path except `/health`. */
  readonly apiKey: string;
  readonly model: string;
}

export interface LlamaEndpoints {
  readonly url: string;
  /** Required by every path except `/health` and `/v1/models`. */
  readonly apiKey: string;
  readonly model: string;
}

export interface RestateEndpoints {
  readonly ingressUrl: string;
  readonly adminUrl: string;
  /** The addresses of all nodes; those above are the first of each. */
  readonly ingressUrls: readonly string[];
  readonly adminUrls: readonly string[];
  /** `publickeyv1_…`: services verify the signatures of Restate's calls with it. */
  readonly identityPublicKey: string;
}

export interface IncusEndpoints {
  readonly url: string;
  readonly socketPath: string;
  /** PEM files: the client certificate that the daemon trusts, its key, and the daemon's certificate. */
  readonly clientCertificateFile: string;
  readonly clientKeyFile: string;
  readonly serverCertificateFile: string;
  readonly imageAlias: string;
  readonly bridge: string;
}

/** Three simulated hosts as one cluster. GPUs are simulated too; daemons, containers and networks are real. */
export interface IncusClusterEndpoints {
  readonly members: readonly IncusMember[];
  /** PEM files: the client certificate that every member trusts, its key, and the shared certificate of the members. */
  readonly clientCertificateFile: string;
  readonly clientKeyFile: string;
  readonly serverCertificateFile: string;
  /** Aliases of the small image and of the image with an SSH server. */
  readonly imageAlias: string;
  readonly sshImageAlias: string;
  readonly network: string;
}

/** One daemon on a simulated host, which trusts no client yet. GPUs are simulated; daemon, containers and network are real. */
export interface IncusHostEndpoints {
  readonly url: string;
  /** Address of the host, reachable from any process of this machine. Proxy devices listen on it. */
  readonly address: string;
  /** Access to this socket gives full control of the daemon. */
  readonly socketPath: string;
  readonly serverCertificateFile: string;
  /** Aliases, in the project `default`, of the small image and of the image with an SSH server. */
  readonly imageAlias: string;
  readonly sshImageAlias: string;
  readonly network: string;
  readonly storagePool: string;
}

/** Ironic with one user who has all permissions. */
export interface IronicEndpoints {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /** Folder of kernels, ramdisks and images that `file:` URLs may name. */
  readonly imagesFolder: string;
  /** Folder whose files are served to machines at `filesUrl`. */
  readonly filesFolder: string;
  readonly filesUrl: string;
}

export interface IncusMember {
  readonly name: string;
  readonly url: string;
  /** Address of the host, reachable from any process of this machine. Proxy devices listen on it. */
  readonly address: string;
  readonly socketPath: string;
}

interface EndpointsFile {
  /** Topology of each engine as requested by its last `up`. */
  readonly active: Readonly<Record<string, Topology>>;
  /** Endpoints of each engine in its active topology. */
  readonly current?: Endpoints;
  readonly single?: Endpoints;
  readonly cluster?: Endpoints;
}

const fileName = 'endpoints.json';

function readFile(stateDir: string): EndpointsFile | null {
  const file = path.join(stateDir, fileName);
  if (!existsSync(file)) return null;
  // The tool writes this file atomically, so its shape is known.
  const parsed = JSON.parse(readFileSync(file, 'utf8')) as EndpointsFile | EarlierFile;
  return isEarlier(parsed) ? upgraded(parsed) : parsed;
}

/** Format of the file when all engines shared one topology. */
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

/** The topology that `up` uses if none is requested. */
export function activeTopology(site: Site, engineName: string): Topology {
  return readFile(site.stateDir)?.active[engineName] ?? 'single';
}

export type EndpointsChange = Required<Pick<EndpointsFile, 'active' | 'current'>> &
  Pick<EndpointsFile, Topology>;

/** Topologies that `change` does not contain stay unchanged. */
export function writeEndpoints(site: Site, change: EndpointsChange): void {
  const before = readFile(site.stateDir);
  const after: EndpointsFile = { ...before, ...change };
  const text = `${JSON.stringify(after, null, 2)}\n`;
  if (before === null || `${JSON.stringify(before, null, 2)}\n` !== text) {
    // The credentials of a secure site are in it.
    writeAtomically(path.join(site.stateDir, fileName), text, site.secure === true ? 0o600 : 0o644);
  }
}

/** Any process may call this at any time: the file is replaced atomically. The engines might not run; `ensureUp` starts them. */
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
