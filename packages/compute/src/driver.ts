import type { Mode } from '@millrace/platform/envelope';
import type { OrgId } from '@millrace/platform/ids';
import type { NetGuard } from '@millrace/platform/net';

/**
 * What Millrace asks of an engine that runs machines. One driver serves one cluster: one endpoint of one engine.
 *
 * These promises hold for every driver, and the conformance suite checks them:
 *
 * - **Machines are known by `externalId`.** It is chosen by the caller before anything is asked of the engine, and the
 *   engine keeps it. So a caller that lost an answer asks again with the same id and gets one machine, not two.
 * - **Every method may be repeated**, also while an earlier call of it is still under way, also from another process.
 *   A repeat that finds its work done answers as the first did.
 * - **A call waits for the engine**, up to the signal's deadline: when it resolves, the engine has done it, not merely
 *   accepted it. The one thing that is not waited for is the power of a machine that `create` made. Waiting for the
 *   *machine* (booted, reachable, proven) is the caller's business: it polls `describe`.
 * - **"Not there" is said only by an engine that answered.** `describe` is null, and `terminate` is done, when the
 *   engine itself says that it has no such machine. An engine that is silent, restarting, or has lost the member that
 *   holds the machine is a `DriverError` of kind `unavailable`. Nobody may conclude from silence that a machine is gone.
 * - **Every failure is a `DriverError`**, and `isFinal` tells whether asking again could help.
 * - **Nothing is decided here.** Which node, which GPUs, which ports: the caller chose all of it, and the driver either
 *   gives exactly that or refuses. Engines let one GPU into two machines; that it is sold once is the caller's rule.
 */
export interface ComputeDriver {
  readonly kind: DriverKind;
  readonly can: DriverCapabilities;
  /**
   * Where somebody else named where the engine is: what of the addresses that it tells may be connected to. Whoever dials one
   * of them goes through this.
   */
  readonly guard?: NetGuard;

  /** All nodes of the cluster and the hardware of each, as the engine reports it now. */
  readInventory(signal: AbortSignal): Promise<Inventory>;

  /**
   * Makes the machine and has it started. A machine of this `externalId` that exists already is kept and started if it
   * is off; if it differs from the wish in node, GPUs, size or image the call is refused with `conflict`. A machine left
   * half-made by a crash is finished or made anew. Access is as the wish says, and nothing else is open.
   *
   * When it resolves the machine is whole, and the engine has at least taken the order to power it on. What becomes of
   * that `describe` tells: `changing` while it is under way, then `on`, or `off` where it came to nothing, and then
   * `start` says why. SSH may let somebody in before it is `on`. Whatever is asked for meanwhile comes after the start:
   * a stop, a cut or new ports wait for it.
   */
  create(spec: MachineSpec, signal: AbortSignal): Promise<void>;

  /** The machine as the engine sees it now; null only when the engine says that there is none. */
  describe(machine: MachineRef, signal: AbortSignal): Promise<MachineView | null>;

  /** Powers on. GPUs and ports are as they were. Refused with `not_found` when there is no such machine. */
  start(machine: MachineRef, signal: AbortSignal): Promise<void>;

  /** Powers off: asks the machine, then insists after `graceMs`. Disk and address stay. */
  stop(machine: MachineRef, options: StopOptions, signal: AbortSignal): Promise<void>;

  /** Restarts a machine that is on, by force if it does not obey within `graceMs`; starts one that is off. */
  reboot(machine: MachineRef, options: StopOptions, signal: AbortSignal): Promise<void>;

  /**
   * Replaces the keys that may log in as the user of the view. Works on a machine that runs; one that is being started is
   * waited for. Drivers that cannot reach inside (`can.setKeys` is false) refuse with `unsupported`: there it is done over
   * the caller's own SSH session.
   */
  setKeys(machine: MachineRef, keys: readonly string[], signal: AbortSignal): Promise<void>;

  /**
   * Gives a machine that is off these GPUs of its node instead of those that it had: one that gave its GPUs back gets
   * others before it starts again, or none. Done for one that has them already, on or off; otherwise `refused` while it
   * is on. A GPU that the node does not have is `not_found` or `no_capacity`, here or when the machine is started. From
   * then on `create` with these GPUs in its wish finds the machine that it asks for. Where `can.sharesNodes` is false other
   * GPUs than those of its node are `unsupported`.
   */
  setGpus(machine: MachineRef, gpuPciAddresses: readonly string[], signal: AbortSignal): Promise<void>;

  /**
   * Hands user data to a machine that runs, and starts it there in the background, as root. When it resolves the text is
   * in the machine and was started; how it ends nobody waits for. What it writes is added to `userDataLog` inside.
   *
   * Each text is started once in a machine's life: a repeat with the same text does nothing, be the first still running,
   * ended, failed, or before a reboot. What dies with the machine in the instant of starting is not started again. What
   * `create` was given is not counted.
   *
   * A text that begins with `#!` is a program and runs as it is, in any image. One that begins with `#cloud-config` is
   * carried out by the image's cloud-init, module by module, without those that make a first boot (disks, network, host
   * name, the login keys and the host keys: access is what `setKeys` says); in an image without cloud-init it is
   * `unsupported`. Every other text is `unsupported`. What is `unsupported` leaves nothing in the machine.
   *
   * `unavailable` while the machine is off or not up yet; one that is being started is waited for. Drivers that cannot
   * reach inside (`can.runUserData` is false) refuse with `unsupported`: there user data goes over the caller's own SSH
   * session.
   */
  runUserData(machine: MachineRef, userData: string, signal: AbortSignal): Promise<void>;

  /**
   * Replaces the set of open ports. An empty set closes all, SSH included. Where `can.mapsPorts` is false every port is open
   * for as long as the machine is on: one that keeps its number is done, another is `refused`, and to close all is
   * `unsupported` unless it is off.
   */
  setPorts(machine: MachineRef, ports: readonly PortMapping[], signal: AbortSignal): Promise<void>;

  /**
   * Ends every way into the machine and out of it: ports, network, then power, by force. From the moment that it
   * resolves the tenant can do nothing with the machine, so billing may stop. What was open is broken, not drained.
   * A machine that is not there has no access: done. A cut is for good: `create`, `start`, `reboot`, `setGpus`,
   * `runUserData` and new ports are a `conflict` from then on, however late a call comes in that was sent before, and
   * `terminate` is all that follows.
   */
  cutAccess(machine: MachineRef, signal: AbortSignal): Promise<void>;

  /**
   * Deletes the machine and its disk. Resolves when the engine has released it; a machine that is not there is
   * released. The caller asks `describe` once more before it sells the GPUs again.
   *
   * `unclean`: nothing of the machine is left but its data, which the engine could not wipe from the node. From then on the
   * machine is not there for `describe` and `listOwned`, and a repeat says the same for as long as the node is so.
   */
  terminate(machine: MachineRef, signal: AbortSignal): Promise<void>;

  /**
   * Every machine of ours on this cluster, also those the caller has never heard of. Machines of others are left out.
   * Complete or failed: a driver that cannot see a part of its cluster names the nodes it could not ask in `unseen`.
   */
  listOwned(signal: AbortSignal): Promise<OwnedMachines>;

  /**
   * What changes, as hints: a reader that misses one finds the same by reading. Ends when the signal aborts, throws
   * `unavailable` when the connection is lost; the caller connects again and then reads everything once.
   */
  events(signal: AbortSignal): AsyncIterable<EngineEvent>;

  /**
   * The newest part of what the machine wrote to its console, at most `maxBytes`. Some engines hand out what a running
   * machine wrote once and no more: who needs it again keeps it. Of a machine that is off it is all there, each time.
   */
  consoleLog(machine: MachineRef, limit: { readonly maxBytes: number }, signal: AbortSignal): Promise<string>;

  /** What the engine measures; a figure it does not have is null, never 0. */
  metrics(machine: MachineRef, signal: AbortSignal): Promise<MachineMetrics>;

  /** Runs a command inside, without a shell. Output is cut at `maxBytes` each. Refused where `can.exec` is false. */
  exec(machine: MachineRef, command: ExecCommand, signal: AbortSignal): Promise<ExecResult>;

  /** Only where the engine can: null otherwise. */
  readonly volumes: DriverVolumes | null;

  /** Closes connections; calls under way fail as `unavailable`. */
  close(): Promise<void>;
}

export type DriverKind = 'incus' | 'ironic' | 'mock';

/** Whether `metrics` of a driver reports how busy each GPU is. Processes that have no driver use it to refuse idle rules. */
export const reportsGpuUse: Record<DriverKind, boolean> = { incus: false, ironic: false, mock: true };

/** What differs between engines and cannot be hidden. */
export interface DriverCapabilities {
  readonly exec: boolean;
  readonly setKeys: boolean;
  readonly runUserData: boolean;
  readonly consoleLog: boolean;
  readonly metrics: boolean;
  /** False: `metrics` does not report GPUs, so it cannot be known whether a machine is idle. */
  readonly gpuUse: boolean;
  /** False: changes are seen only by reading. */
  readonly events: boolean;
  /** False: a machine has an address of its own, all of it. Its ports are reached at their own numbers and none is closed. */
  readonly mapsPorts: boolean;
  /** False: a machine is a whole node, with all of its GPUs. */
  readonly sharesNodes: boolean;
}

/** A machine of ours. The organisation is part of the reference: engines keep each organisation's machines apart. */
export interface MachineRef {
  readonly externalId: string;
  readonly orgId: OrgId;
}

export interface MachineSpec extends MachineRef {
  readonly mode: Mode;
  /** The engine's own name of the node, from its inventory. */
  readonly nodeName: string;
  /** Exactly these devices, by address on that node; empty for a machine without GPUs. */
  readonly gpuPciAddresses: readonly string[];
  readonly cpuCount: number;
  readonly ramMb: number;
  readonly diskGb: number;
  /** A name that the cluster knows. */
  readonly image: string;
  readonly hostname: string;
  /** Public keys in the form of a line of `authorized_keys`. */
  readonly sshKeys: readonly string[];
  /**
   * The Ed25519 key by which the machine's SSH server must identify itself, put in before the first boot: the caller knows the
   * machine at the first login. A driver never stores the private half outside of the machine and its boot data. A driver
   * whose engine cannot take one refuses with `unsupported`. Left out: the machine makes a key that only it knows.
   */
  readonly hostKey?: MachineHostKey;
  /** Handed to the machine's first boot as it is; null for none. */
  readonly userData: string | null;
  readonly ports: readonly PortMapping[];
  /** Kept by the engine for people who look there, and by the mock for its faults. Keys `[a-z][a-z0-9_.-]{0,62}`. */
  readonly labels: Readonly<Record<string, string>>;
}

export interface MachineHostKey {
  /** OpenSSH's own form, without a passphrase. */
  readonly privateKey: string;
  /** `ssh-ed25519` and the key, in one line. */
  readonly publicKey: string;
}

/** A port of the machine that is reachable at a port of its node's address. SSH is one of them. */
export interface PortMapping {
  readonly internalPort: number;
  readonly externalPort: number;
  readonly protocol: 'tcp' | 'udp';
}

export interface StopOptions {
  readonly graceMs: number;
}

/**
 * `changing`: the engine is at work on it: it is being made, started or deleted. `error`: the engine itself calls it
 * broken, or cannot reach it while its node is away.
 */
export type MachinePower = 'on' | 'off' | 'changing' | 'error';

export interface MachineView extends MachineRef {
  readonly nodeName: string;
  readonly power: MachinePower;
  /** What the engine says about `changing` or `error`, for people. */
  readonly detail: string | null;
  readonly gpuPciAddresses: readonly string[];
  readonly privateIps: readonly string[];
  /** Where its ports are opened: the address of its node. */
  readonly address: string | null;
  readonly ports: readonly PortMapping[];
  readonly sshUser: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAt: Date | null;
  /** Its host lets it use addresses that are not its own: an older version made it. It is protected at its next start. */
  readonly isUnfiltered?: true;
}

export interface OwnedMachines {
  readonly machines: readonly MachineView[];
  /** Nodes whose machines could not be asked for: what they hold is unknown, not gone. */
  readonly unreachableNodes: readonly string[];
}

export interface Inventory {
  /** The engine's name and version, for people. */
  readonly engine: string;
  readonly nodes: readonly InventoryNode[];
}

export interface InventoryNode {
  /** The engine's own name of it, stable for as long as the node is part of the cluster. */
  readonly name: string;
  /** Whether the engine itself can reach the node now. The hardware of one it cannot reach is null. */
  readonly reachable: boolean;
  readonly detail: string | null;
  /** Where ports of its machines are opened. */
  readonly address: string | null;
  readonly hardware: NodeHardware | null;
}

export interface NodeHardware {
  readonly cpuModel: string;
  /** Threads that machines can be given. */
  readonly cpuCount: number;
  readonly ramMb: number;
  readonly storageGb: number;
  readonly gpus: readonly InventoryGpu[];
  /** The fast network it shares with others, from the engine's own labels; null: as its cluster is configured. */
  readonly fabric: string | null;
  readonly connectionType: 'ethernet' | 'infiniband' | null;
}

export interface InventoryGpu {
  readonly pciAddress: string;
  /** The maker's id of this very device, if the engine tells it: a card that was exchanged is another GPU. */
  readonly uuid: string | null;
  readonly model: string;
  /** Null where the engine does not tell. */
  readonly ramMb: number | null;
  readonly numaNode: number | null;
  readonly driverVersion: string | null;
  readonly cudaVersion: string | null;
}

export type EngineEvent =
  | { readonly kind: 'machine'; readonly externalId: string; readonly what: string }
  | { readonly kind: 'node'; readonly nodeName: string; readonly what: string };

export interface MachineMetrics {
  readonly at: Date;
  readonly cpuSeconds: number | null;
  readonly ramUsedBytes: number | null;
  readonly diskUsedBytes: number | null;
  readonly networkInBytes: number | null;
  readonly networkOutBytes: number | null;
  readonly gpus:
    | readonly { readonly pciAddress: string; readonly utilisationPercent: number | null }[]
    | null;
}

export interface ExecCommand {
  readonly argv: readonly string[];
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Disks of the engine itself that outlive a machine. Shared volumes over the network are another feature. */
export interface DriverVolumes {
  create(volume: DriverVolume, signal: AbortSignal): Promise<void>;
  attach(machine: MachineRef, volume: DriverVolume, mountPath: string, signal: AbortSignal): Promise<void>;
  detach(machine: MachineRef, volume: DriverVolume, signal: AbortSignal): Promise<void>;
  delete(volume: DriverVolume, signal: AbortSignal): Promise<void>;
}

export interface DriverVolume {
  readonly externalId: string;
  readonly orgId: OrgId;
  readonly nodeName: string;
  readonly sizeGb: number;
}
