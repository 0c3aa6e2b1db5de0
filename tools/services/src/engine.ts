import type { Endpoints } from './endpoints.ts';
import type { Requirement } from './install/requirements.ts';
import type { Site } from './site.ts';

/** How an engine runs: as one process, or as three that replicate to each other. */
export type Topology = 'single' | 'cluster';

/** One process of an engine, with its own folder, log and ports. */
export interface NodeSpec {
  /** Unique within a state folder, for example `nats` (single) or `nats-2` (second of a cluster). */
  readonly name: string;
  /** 0 for a single node, 1 to 3 for the nodes of a cluster. */
  readonly index: number;
  /** By purpose; the first entry is the port that clients use. */
  readonly ports: Readonly<Record<string, number>>;
}

/** All nodes of one engine in one topology, which is the unit that is configured and formed together. */
export interface Group {
  readonly site: Site;
  readonly engine: Engine;
  readonly topology: Topology;
  readonly nodes: readonly NodeSpec[];
}

/** A process to start. `env` is added to the environment the tool itself runs in. */
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

/** Tells the person at the terminal what an engine is doing right now. */
export type Note = (message: string) => void;

/**
 * What the tool must know about one engine. Everything that is the same for all of them (folders, pid
 * records, logs, locks, waiting, adoption, reporting) lives outside, so that a new engine is one file.
 */
export interface Engine {
  readonly name: string;
  /** As people write it, with the version line that we run. */
  readonly title: string;
  readonly topologies: readonly Topology[];
  /** Started only when somebody names it: it stands in for what others run. */
  readonly onlyByName?: true;
  readonly stop: StopPolicy;
  /** Where the nodes of a cluster are stopped in another way. */
  readonly stopInCluster?: StopPolicy;
  readonly readyTimeoutMs: number;

  /** Why this engine can never run on this machine as this user, or null. */
  obstacle?(site: Site): string | null;

  /** What is missing before it can start; empty when all is there. */
  needs(site: Site): Promise<readonly Requirement[]>;

  nodes(site: Site, topology: Topology): readonly NodeSpec[];

  /** Writes configuration and initialises data. Runs before every start and must survive being killed anywhere. */
  configure(group: Group, node: NodeSpec, note: Note): Promise<void>;

  start(group: Group, node: NodeSpec): Launch;

  /**
   * One-time steps that need running processes: provision a cluster, create a database. Called after a
   * start, retried until it succeeds, so each step looks before it acts.
   */
  form?(group: Group, note: Note): Promise<void>;

  /** Throws, saying why, unless the node answers a real request the way a client would make it. */
  ready(group: Group, node: NodeSpec): Promise<void>;

  /** Releases what outlives the processes (mounts, bridges). Called after the last process has gone. */
  release?(group: Group): Promise<void>;

  /** A failed start whose log matches is tried again: the cause goes away by itself. */
  readonly transientFailure?: RegExp;

  endpoints(group: Group): Partial<Endpoints>;
}
