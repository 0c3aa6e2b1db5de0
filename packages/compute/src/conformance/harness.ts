import type { ConnectConfig } from 'ssh2';
import type { ComputeDriver, DriverCapabilities, MachineView, MachineSpec } from '../driver.ts';

/**
 * What the suite is told about an engine, and how it may hurt it. A driver's test file builds one and calls
 * `describeDriver(name, world)`.
 *
 * What stands here as an optional member and is left out has no tests: nothing is skipped, it is not there. So a world
 * without `killMember` says that this engine's members cannot be killed from a test.
 */
export interface DriverHarness {
  /** Brings the engine up and says what is there. Called once, before everything else. */
  open(): Promise<HarnessInfo>;
  /** Called once, after the last test. Machines are gone by then; organisations' folders in the engine may not be. */
  close(): Promise<void>;

  /**
   * A connection of its own: what another process would have. The suite opens several and closes them. It never uses
   * more than two organisations in a run.
   */
  connect(): Promise<ComputeDriver>;
  /** What `can` must say, known before the engine is up so that tests for the rest are not even registered. */
  readonly abilities: DriverCapabilities;

  /** Where a test on this machine reaches a port that was opened at the node's address. */
  reach(view: MachineView, externalPort: number): { readonly host: string; readonly port: number };
  /** What the SSH client needs beyond address, user and key; nothing unless the server inside is an odd one. */
  readonly ssh?: Pick<ConnectConfig, 'algorithms' | 'readyTimeout'>;

  /**
   * Lets time pass: a steerable clock is moved, a real engine is waited for. The suite calls it between two looks at
   * something that is under way.
   */
  advance(ms: number): Promise<void>;

  /**
   * Whether a stall of the machine explains this failure. The suite then repeats the call, as callers of a driver do.
   * Without this function it repeats no call.
   */
  isStalled?(error: unknown): boolean;

  /**
   * Lists the GPU devices that a machine sees, as one line each that `pattern` matches. `ls /dev` and `nvidia0`,
   * `nvidia1`, … unless said.
   */
  readonly gpuDevices?: { readonly argv: readonly string[]; readonly pattern: RegExp };

  /** Machines run the programs that they are given, in a shell: the mock's do not. */
  readonly runsPrograms?: boolean;
  /** False: machines are there only as far as their engine knows. Nobody can log in. */
  readonly hasInside?: boolean;
  /** Whether the image of the tests has cloud-init; it has unless said. */
  readonly hasCloudInit?: boolean;

  /** Leaves behind what a crash in the middle of `create` leaves, by whatever way the engine allows. */
  leaveHalfMade?(spec: MachineSpec): Promise<void>;
  /** Puts a machine there that is not ours and takes it away again. */
  createForeign?(): Promise<{ readonly externalId: string; remove(): Promise<void> }>;
  /** Breaks every connection for events that is open now; the engine itself goes on. */
  loseEvents?(): Promise<void>;
  /**
   * Starts `create`, kills the engine (or the member that does the work) while it is under way, and has it running
   * again when this resolves. The outcome of `create` does not matter and must not be thrown.
   */
  killEngineDuringCreate?(create: () => Promise<void>): Promise<void>;
  /** Kills the member of this name, without warning. Resolves when it is dead, not when the engine noticed. */
  killMember?(nodeName: string): Promise<void>;
  /** Kills the member that leads now. Resolves with its name when it is dead. */
  killLeader?(): Promise<string>;
  /** All members up and agreed again. Called after each of the three above. */
  heal?(): Promise<void>;
}

export interface HarnessInfo {
  /** Nodes to place on, with two GPUs or more each: two or more where the engine can have as many. */
  readonly nodes: readonly HarnessNode[];
  /** The name of an image with an SSH server in it, and one that the engine does not know. */
  readonly image: string;
  readonly unknownImage: string;
  /** A size that every node can hold a few of. */
  readonly size: { readonly cpuCount: number; readonly ramMb: number; readonly diskGb: number };
  /** A port at this node's address that nothing has; another one each time. That of SSH where the engine maps none. */
  freePort(nodeName: string): Promise<number>;
  /** The bounds that this engine keeps. Each is given to the suite's waits and to the tests' own deadlines. */
  readonly bounds: {
    /** One call. */
    readonly callMs: number;
    /** From the answer to `create` until SSH answers. */
    readonly bootMs: number;
    /** From a dead member or leader until calls that others can answer are answered. */
    readonly failoverMs: number;
  };
}

export interface HarnessNode {
  readonly name: string;
  readonly gpuPciAddresses: readonly string[];
}
