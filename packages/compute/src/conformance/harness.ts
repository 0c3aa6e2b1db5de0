import type { ConnectConfig } from 'ssh2';
import type { ComputeDriver, DriverCapabilities, MachineView, MachineSpec } from '../driver.ts';

/**
 * Describes an engine to the suite and how the suite can break it. The test file of a driver builds a harness and calls
 * `describeDriver(name, harness)`.
 *
 * An omitted optional member registers no tests. For example, a harness without `killMember` cannot kill nodes.
 */
export interface DriverHarness {
  /** Starts the engine. Called once, before everything else. */
  open(): Promise<HarnessInfo>;
  /** Called once, after the last test. Machines are deleted by then; projects of organisations may still exist. */
  close(): Promise<void>;

  /** Opens a separate connection, as another process would. The suite closes it, and uses at most two organisations in a run. */
  connect(): Promise<ComputeDriver>;
  /** The expected `can`, needed before the engine runs to decide which tests to register. */
  readonly abilities: DriverCapabilities;

  /** Where the test reaches a port that is open at the node's address. */
  reach(view: MachineView, externalPort: number): { readonly host: string; readonly port: number };
  /** Extra options for an unusual SSH server inside. */
  readonly ssh?: Pick<ConnectConfig, 'algorithms' | 'readyTimeout'>;

  /** Advances a simulated clock, or waits for a real engine. The suite calls it between two polls. */
  advance(ms: number): Promise<void>;

  /** Whether a stall of the test host explains this failure; the suite then repeats the call. If omitted, it repeats none. */
  isStalled?(error: unknown): boolean;

  /** Lists GPU devices as lines that match `pattern`; default `ls /dev` and `nvidia0`, `nvidia1`, … */
  readonly gpuDevices?: { readonly argv: readonly string[]; readonly pattern: RegExp };

  /** Whether machines really run programs; the mock's do not. */
  readonly runsPrograms?: boolean;
  /** False if the machines accept no logins. */
  readonly hasInside?: boolean;
  /** Whether the test image has cloud-init; default true. */
  readonly hasCloudInit?: boolean;

  /** Produces the state that a crash in the middle of `create` leaves. */
  leaveHalfMade?(spec: MachineSpec): Promise<void>;
  /** Creates a machine that is not owned. */
  createForeign?(): Promise<{ readonly externalId: string; remove(): Promise<void> }>;
  /** Breaks all open event connections; the engine keeps running. */
  loseEvents?(): Promise<void>;
  /** Starts `create`, kills the engine or node that executes it, resolves when it runs again, and never throws. */
  killEngineDuringCreate?(create: () => Promise<void>): Promise<void>;
  /** Kills the node without warning. Resolves when it is dead, not when the engine has noticed. */
  killMember?(nodeName: string): Promise<void>;
  /** Kills the current leader and resolves with its name. */
  killLeader?(): Promise<string>;
  /** Waits until all nodes run and agree again. Called after each kill. */
  heal?(): Promise<void>;
}

export interface HarnessInfo {
  /** Nodes with two or more GPUs each; two or more nodes if the engine can have them. */
  readonly nodes: readonly HarnessNode[];
  /** An image with an SSH server, and one that does not exist. */
  readonly image: string;
  readonly unknownImage: string;
  /** A size that fits several times on every node. */
  readonly size: { readonly cpuCount: number; readonly ramMb: number; readonly diskGb: number };
  /** Returns an unused port of the node's address, each time another; the SSH port if the engine maps no ports. */
  freePort(nodeName: string): Promise<number>;
  /** Time limits of this engine, for the suite's waits and deadlines. */
  readonly bounds: {
    readonly callMs: number;
    /** From the response of `create` until SSH responds. */
    readonly bootMs: number;
    /** From the death of a node or leader until other nodes respond to calls again. */
    readonly failoverMs: number;
  };
}

export interface HarnessNode {
  readonly name: string;
  readonly gpuPciAddresses: readonly string[];
}
