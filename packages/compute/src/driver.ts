import type { Mode } from '@millrace/platform/envelope';
import type { OrgId } from '@millrace/platform/ids';
import type { NetGuard } from '@millrace/platform/net';

/**
 * Interface to an engine that runs machines. One driver serves one cluster, which is one endpoint of one engine.
 *
 * Every driver guarantees, and the conformance suite checks:
 *
 * - **Machines are identified by `externalId`**, which the caller chooses before the first call. A caller that lost a response
 * repeats the call with the same id and gets one machine, not two.
 * - **Every method is idempotent**, also while an earlier call is in progress and from another process. A repeat of completed
 * work returns the same result.
 * - **A call waits for the engine**, up to the signal's deadline: when it resolves, the engine has done the work. The only
 * exception is the power-on after `create`. Waiting until the *machine* has booted is up to the caller, which polls `describe`.
 * - **Only a response of the engine proves absence.** `describe` is null, and `terminate` resolves, if the engine reports that it
 * has no such machine. An engine that does not respond, restarts or lost the node is `unavailable`.
 * - **Every failure is a `DriverError`** whose `isFinal` says whether to retry.
 * - **Drivers decide nothing.** The caller chooses node, GPUs and ports; the driver provides exactly these or refuses. Engines
 * let two machines use one GPU, so the caller must prevent that.
 */
export interface ComputeDriver {
  readonly kind: DriverKind;
  readonly can: DriverCapabilities;
  /** For endpoints that a supplier entered: every connection to an address that the engine reports must use this guard. */
  readonly guard?: NetGuard;

  /** All nodes of the cluster with their hardware, as the engine reports them now. */
  readInventory(signal: AbortSignal): Promise<Inventory>;

  /**
   * Creates the machine and requests its start. An existing machine with this `externalId` is kept, and started if it is off; if
   * it differs from the spec in node, GPUs, size or image, the call fails with `conflict`. A partial machine left by a crash is
   * completed or created again. Only the access that the spec lists is open.
   *
   * When it resolves, the machine is complete and the engine has accepted the power-on. `describe` then reports `changing`, and
   * later `on`, or `off` if the start failed, for which `start` gives the reason. SSH may work before `on`. Later calls (stop,
   * cut, new ports) wait for the start.
   */
  create(spec: MachineSpec, signal: AbortSignal): Promise<void>;

  /** Null only if the engine reports that the machine does not exist. */
  describe(machine: MachineRef, signal: AbortSignal): Promise<MachineView | null>;

  /** Powers on with unchanged GPUs and ports; `not_found` if the machine does not exist. */
  start(machine: MachineRef, signal: AbortSignal): Promise<void>;

  /** Shuts down, and powers off by force after `graceMs`. Disk and address stay. */
  stop(machine: MachineRef, options: StopOptions, signal: AbortSignal): Promise<void>;

  /** Restarts a machine that is on, by force after `graceMs`; starts one that is off. */
  reboot(machine: MachineRef, options: StopOptions, signal: AbortSignal): Promise<void>;

  /**
   * Replaces the login keys of the view's user on a running machine; waits for a start in progress. Where `can.setKeys` is false,
   * it fails with `unsupported`, and the caller uses its own SSH session.
   */
  setKeys(machine: MachineRef, keys: readonly string[], signal: AbortSignal): Promise<void>;

  /**
   * Replaces the GPUs of a machine that is off, possibly by none. Succeeds if it already has them; otherwise `refused` while it
   * is on. A GPU that the node does not have is `not_found` or `no_capacity`, here or at the next start. Afterwards `create` must
   * use the new GPUs in its spec. Where `can.sharesNodes` is false, GPUs other than those of the node are `unsupported`.
   */
  setGpus(machine: MachineRef, gpuPciAddresses: readonly string[], signal: AbortSignal): Promise<void>;

  /**
   * Starts user data on a running machine as root in the background. When it resolves, the text has been stored and started; its
   * output is appended to `userDataLog`.
   *
   * Each text is started once per machine: a repeat does nothing, also after a reboot or a failure. A text whose start is
   * interrupted by the end of the machine is not started again. User data of `create` does not count.
   *
   * A text with `#!` runs as a program in any image. A text with `#cloud-config` is run by cloud-init, without the modules of a
   * first boot (disks, network, host name, login keys, host keys); without cloud-init it is `unsupported`. Any other text is
   * `unsupported`. Unsupported texts change nothing in the machine.
   *
   * `unavailable` while the machine is off or not booted; a start in progress is waited for. Where `can.runUserData` is false, it
   * fails with `unsupported`, and the caller uses its own SSH session.
   */
  runUserData(machine: MachineRef, userData: string, signal: AbortSignal): Promise<void>;

  /**
   * Replaces the set of open ports. An empty set closes all, including SSH. Where `can.mapsPorts` is false, all ports are open
   * while the machine is on: a port with the same internal and external number succeeds, another is `refused`, and closing all is
   * `unsupported` unless it is off.
   */
  setPorts(machine: MachineRef, ports: readonly PortMapping[], signal: AbortSignal): Promise<void>;

  /**
   * Removes all access to and from the machine by force: ports, network, then power. When it resolves, the tenant cannot use the
   * machine, so billing may stop. Open connections are dropped. Also resolves if the machine does not exist. The cut is
   * permanent: `create`, `start`, `reboot`, `setGpus`, `runUserData` and new ports fail with `conflict` from then on, also if
   * they were sent earlier; only `terminate` is possible.
   */
  cutAccess(machine: MachineRef, signal: AbortSignal): Promise<void>;

  /**
   * Deletes the machine and its disk. Resolves when the engine has released it, or if it does not exist. The caller must confirm
   * with `describe` before it sells the GPUs again.
   *
   * `unclean`: the machine is deleted, but its data could not be wiped from the node. `describe` and `listOwned` then report it
   * as absent, and a repeat fails the same way while the node is unclean.
   */
  terminate(machine: MachineRef, signal: AbortSignal): Promise<void>;

  /** All owned machines, also those that no row refers to, and the nodes whose machines could not be listed. */
  listOwned(signal: AbortSignal): Promise<OwnedMachines>;

  /**
   * Changes, as notifications that may be lost; a reader must also poll. Ends when the signal aborts and throws `unavailable` if
   * the connection is lost; the caller then reconnects and reads everything once.
   */
  events(signal: AbortSignal): AsyncIterable<EngineEvent>;

  /**
   * The end of the console output, at most `maxBytes`. Some engines return the output of a running machine only once, so the
   * caller must store it. The output of a machine that is off is always complete.
   */
  consoleLog(machine: MachineRef, limit: { readonly maxBytes: number }, signal: AbortSignal): Promise<string>;

  /** Values that the engine does not measure are null, never 0. */
  metrics(machine: MachineRef, signal: AbortSignal): Promise<MachineMetrics>;

  /** Runs a command without a shell and truncates each output at `maxBytes`. `unsupported` where `can.exec` is false. */
  exec(machine: MachineRef, command: ExecCommand, signal: AbortSignal): Promise<ExecResult>;

  /** Null if the engine has no volumes. */
  readonly volumes: DriverVolumes | null;

  /** Closes connections; calls in progress fail as `unavailable`. */
  close(): Promise<void>;
}

export type DriverKind = 'incus' | 'ironic' | 'mock';

/** Whether `metrics` reports GPU utilisation. Processes without a driver use it to refuse idle rules. */
export const reportsGpuUse: Record<DriverKind, boolean> = { incus: false, ironic: false, mock: true };

/** Differences between engines that callers must handle. */
export interface DriverCapabilities {
  readonly exec: boolean;
  readonly setKeys: boolean;
  readonly runUserData: boolean;
  readonly consoleLog: boolean;
  readonly metrics: boolean;
  /** If false, `metrics` has no GPU utilisation, so idleness is unknown. */
  readonly gpuUse: boolean;
  /** If false, changes are found only by polling. */
  readonly events: boolean;
  /** If false, a machine has its own address, its ports keep their numbers and none is closed. */
  readonly mapsPorts: boolean;
  /** If false, a machine is a whole node with all its GPUs. */
  readonly sharesNodes: boolean;
}

/** Includes the organisation, because engines separate the machines of organisations. */
export interface MachineRef {
  readonly externalId: string;
  readonly orgId: OrgId;
}

export interface MachineSpec extends MachineRef {
  readonly mode: Mode;
  /** The engine's name of the node, from the inventory. */
  readonly nodeName: string;
  /** Exactly these devices of the node; empty for none. */
  readonly gpuPciAddresses: readonly string[];
  readonly cpuCount: number;
  readonly ramMb: number;
  readonly diskGb: number;
  /** Name of an image that the cluster has. */
  readonly image: string;
  readonly hostname: string;
  /** Public keys as lines of `authorized_keys`. */
  readonly sshKeys: readonly string[];
  /**
   * The Ed25519 key with which the machine's SSH server must identify itself, installed before the first boot, so that the caller
   * can verify the first login. Drivers store the private key only in the machine and its boot data, and fail with `unsupported`
   * if the engine cannot install one. If omitted, the machine generates its own key.
   */
  readonly hostKey?: MachineHostKey;
  /** Passed unchanged to the first boot. */
  readonly userData: string | null;
  readonly ports: readonly PortMapping[];
  /** Stored by the engine for operators; the mock reads its injected faults from them. Keys `[a-z][a-z0-9_.-]{0,62}`. */
  readonly labels: Readonly<Record<string, string>>;
}

export interface MachineHostKey {
  /** OpenSSH format without a passphrase. */
  readonly privateKey: string;
  readonly publicKey: string;
}

/** A port of the machine that is reachable at a port of the node's address. SSH is one of them. */
export interface PortMapping {
  readonly internalPort: number;
  readonly externalPort: number;
  readonly protocol: 'tcp' | 'udp';
}

export interface StopOptions {
  readonly graceMs: number;
}

/** `changing`: being created, started or deleted. `error`: broken, or its node is unreachable from the engine. */
export type MachinePower = 'on' | 'off' | 'changing' | 'error';

export interface MachineView extends MachineRef {
  readonly nodeName: string;
  readonly power: MachinePower;
  /** The engine's explanation of `changing` or `error`, for operators. */
  readonly detail: string | null;
  readonly gpuPciAddresses: readonly string[];
  readonly privateIps: readonly string[];
  /** Address of the node, where the ports are open. */
  readonly address: string | null;
  readonly ports: readonly PortMapping[];
  readonly sshUser: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAt: Date | null;
  /** The machine was created by an older version and can use foreign addresses until its next start. */
  readonly isUnfiltered?: true;
}

export interface OwnedMachines {
  readonly machines: readonly MachineView[];
  /** Nodes whose machines could not be listed; these machines are unknown, not deleted. */
  readonly unreachableNodes: readonly string[];
}

export interface Inventory {
  /** Name and version of the engine, for operators. */
  readonly engine: string;
  readonly nodes: readonly InventoryNode[];
}

export interface InventoryNode {
  /** The engine's name, stable while the node is part of the cluster. */
  readonly name: string;
  /** Whether the engine can reach the node now. If not, `hardware` is null. */
  readonly reachable: boolean;
  readonly detail: string | null;
  /** Where ports of its machines are opened. */
  readonly address: string | null;
  readonly hardware: NodeHardware | null;
}

export interface NodeHardware {
  readonly cpuModel: string;
  /** Threads available to machines. */
  readonly cpuCount: number;
  readonly ramMb: number;
  readonly storageGb: number;
  readonly gpus: readonly InventoryGpu[];
  /** The fast network of the node, from the engine's labels; null: as the cluster is configured. */
  readonly fabric: string | null;
  readonly connectionType: 'ethernet' | 'infiniband' | null;
}

export interface InventoryGpu {
  readonly pciAddress: string;
  /** The vendor's id of the device, if the engine reports it: a replaced card is another GPU. */
  readonly uuid: string | null;
  readonly model: string;
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

/** Disks of the engine that outlive a machine. Shared network volumes are a separate feature. */
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
