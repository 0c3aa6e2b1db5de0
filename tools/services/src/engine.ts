import type { Endpoints } from './endpoints.ts';
import type { Requirement } from './install/requirements.ts';
import type { SecureEndpoints } from './secure/secure-endpoints.ts';
import type { Site } from './site.ts';

export type Topology = 'single' | 'cluster';

/** One process of an engine, with its own folder, log and ports. */
export interface NodeSpec {
  /** Unique within a state folder, for example `nats` (single) or `nats-2` (second of a cluster). */
  readonly name: string;
  /** 0 for a single node, 1 to 3 for the nodes of a cluster. */
  readonly index: number;
  /** Ports by purpose; the first entry is the client port. */
  readonly ports: Readonly<Record<string, number>>;
}

/** All nodes of one engine in one topology: the unit that is configured and formed. */
export interface Group {
  readonly site: Site;
  readonly engine: Engine;
  readonly topology: Topology;
  readonly nodes: readonly NodeSpec[];
}

/** A process to start. `env` is added to the environment of the tool. */
export interface Launch {
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface StopPolicy {
  readonly signal: NodeJS.Signals;
  /** How long a clean stop may take before the process is killed. */
  readonly timeoutMs: number;
}

export type Note = (message: string) => void;

/**
 * The differences between engines. Shared parts (records, logs, locks, waiting, adoption) are elsewhere: a new engine is one
 * file.
 */
export interface Engine {
  readonly name: string;
  /** Display name with the version line. */
  readonly title: string;
  readonly topologies: readonly Topology[];
  /** Started only when named, because the default set does not need it. */
  readonly onlyByName?: true;
  readonly stop: StopPolicy;
  /** Overrides `stop` for the nodes of a cluster. */
  readonly stopInCluster?: StopPolicy;
  readonly readyTimeoutMs: number;

  /** Why this engine can never run on this machine as this user, or null. */
  obstacle?(site: Site): string | null;

  needs(site: Site): Promise<readonly Requirement[]>;

  nodes(site: Site, topology: Topology): readonly NodeSpec[];

  /** Writes configuration and initialises data before every start. It may be killed at any point, so it must be repeatable. */
  configure(group: Group, node: NodeSpec, note: Note): Promise<void>;

  start(group: Group, node: NodeSpec): Launch;

  /**
   * One-time steps that need running processes, such as provisioning. Retried until it succeeds, so each step must be idempotent.
   */
  form?(group: Group, note: Note): Promise<void>;

  /** Throws the reason unless the node answers a real client request. */
  ready(group: Group, node: NodeSpec): Promise<void>;

  /** Removes mounts and bridges that outlive the processes. Called after the last process ended. */
  release?(group: Group): Promise<void>;

  /** A failed start is retried if its log matches: the cause disappears without action. */
  readonly transientFailure?: RegExp;

  endpoints(group: Group): Partial<Endpoints>;

  /** Makes a running node of a secure site use the new certificate in its home for new connections. */
  reloadCertificate?(group: Group, node: NodeSpec, pid: number): Promise<void>;

  /** The credentials of each role, called only for a secure site. */
  secureEndpoints?(group: Group): Partial<SecureEndpoints>;
}
