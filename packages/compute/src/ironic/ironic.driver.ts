import { checkGpus, checkPorts, checkRef, checkSpec } from '../check-spec.ts';
import type {
  ComputeDriver,
  DriverCapabilities,
  EngineEvent,
  ExecResult,
  Inventory,
  MachineMetrics,
  MachineRef,
  MachineView,
  MachineSpec,
  OwnedMachines,
  PortMapping,
  StopOptions,
} from '../driver.ts';
import { reportsGpuUse } from '../driver.ts';
import { IronicClient } from './ironic-client.ts';
import { IronicProvisioner } from './ironic-provisioner.ts';
import { IronicError } from './ironic-errors.ts';
import { IronicInspections } from './ironic-inspections.ts';
import {
  hasNoConductor,
  isPowerKnown,
  exists,
  assertPortsUnmapped,
  viewOf,
  type LocatedMachine,
} from './ironic-machine.ts';
import { IronicDeps, assertAccessNotCut } from './ironic-deps.ts';
import { IronicPool } from './ironic-pool.ts';
import { IronicPower } from './ironic-power.ts';
import { IronicDeprovisioner } from './ironic-deprovisioner.ts';
import { settingsOf, type IronicDriverOptions } from './ironic-settings.ts';

/** Ironic deploys disks and changes power. It cannot reach into a machine, and sends no events. */
const can: DriverCapabilities = {
  exec: false,
  setKeys: false,
  runUserData: false,
  consoleLog: false,
  metrics: false,
  gpuUse: reportsGpuUse.ironic,
  events: false,
  mapsPorts: false,
  sharesNodes: false,
};

export class IronicDriver implements ComputeDriver {
  readonly kind = 'ironic';
  readonly can = can;
  readonly volumes = null;
  readonly #client: IronicClient;
  readonly #deps: IronicDeps;
  readonly #power: IronicPower;
  readonly #inspections: IronicInspections;
  readonly #maker: IronicProvisioner;
  readonly #remover: IronicDeprovisioner;

  constructor(options: IronicDriverOptions) {
    const settings = settingsOf(options);
    this.#client = new IronicClient(options, options.clock);
    this.#deps = new IronicDeps(this.#client, new IronicPool(this.#client, settings.owner), settings);
    this.#inspections = new IronicInspections(this.#client);
    this.#power = new IronicPower(this.#deps);
    this.#maker = new IronicProvisioner(this.#deps, this.#power, this.#inspections);
    this.#remover = new IronicDeprovisioner(this.#deps, this.#power);
  }

  async readInventory(signal: AbortSignal): Promise<Inventory> {
    const { nodes } = await this.#deps.pool.read(signal);
    return { engine: this.#client.version, nodes: await this.#inspections.inventory(nodes, signal) };
  }

  async create(spec: MachineSpec, signal: AbortSignal): Promise<void> {
    checkSpec(spec);
    await this.#maker.create(spec, signal);
  }

  async describe(machine: MachineRef, signal: AbortSignal): Promise<MachineView | null> {
    checkRef(machine);
    const located = await this.#deps.pool.find(machine, signal);
    return located === null || !exists(located) ? null : viewOf(located, this.#deps.settings);
  }

  async start(machine: MachineRef, signal: AbortSignal): Promise<void> {
    checkRef(machine);
    await this.#power.on(await this.#usable(machine, 'start the machine', signal), signal);
  }

  async stop(machine: MachineRef, options: StopOptions, signal: AbortSignal): Promise<void> {
    checkRef(machine);
    const { node } = await this.#power.deployed(machine, 'stop the machine', signal);
    await this.#power.off(node, options.graceMs, signal);
  }

  async reboot(machine: MachineRef, options: StopOptions, signal: AbortSignal): Promise<void> {
    checkRef(machine);
    await this.#power.reboot(
      await this.#usable(machine, 'reboot the machine', signal),
      options.graceMs,
      signal,
    );
  }

  /** The tenant has the whole address: ports keep their numbers, and none can be closed. */
  async setPorts(machine: MachineRef, ports: readonly PortMapping[], signal: AbortSignal): Promise<void> {
    checkRef(machine);
    checkPorts(ports);
    const located = await this.#deps.there(machine, signal);
    if (ports.length > 0) {
      assertAccessNotCut(located);
      return assertPortsUnmapped(ports);
    }
    const isOff = located.isCut || viewOf(located, this.#deps.settings).power === 'off';
    if (!isOff) throw unsupportedError('close the ports of a machine that is on');
  }

  async setGpus(machine: MachineRef, gpuPciAddresses: readonly string[], signal: AbortSignal): Promise<void> {
    checkRef(machine);
    checkGpus(gpuPciAddresses);
    const located = await this.#deps.there(machine, signal);
    assertAccessNotCut(located);
    if (located.mark.gpus.join() === gpuPciAddresses.toSorted().join()) return;
    throw unsupportedError('give a machine other GPUs than its node has');
  }

  async cutAccess(machine: MachineRef, signal: AbortSignal): Promise<void> {
    checkRef(machine);
    await this.#remover.cut(machine, signal);
  }

  async terminate(machine: MachineRef, signal: AbortSignal): Promise<void> {
    checkRef(machine);
    await this.#remover.terminate(machine, signal);
  }

  async listOwned(signal: AbortSignal): Promise<OwnedMachines> {
    const { nodes } = await this.#deps.pool.read(signal);
    const there = nodes.flatMap(({ located }) => (located !== null && exists(located) ? [located] : []));
    return {
      machines: there.map((located) => viewOf(located, this.#deps.settings)),
      unreachableNodes: there.filter(isNodeUnreachable).map(({ node }) => node.uuid),
    };
  }

  // oxlint-disable-next-line require-yield -- the engine has no events, but the interface requires a stream
  async *events(): AsyncIterable<EngineEvent> {
    throw unsupportedError('send events');
  }

  async setKeys(): Promise<void> {
    throw unsupportedError('change keys inside a machine');
  }

  async runUserData(): Promise<void> {
    throw unsupportedError('start user data inside a running machine');
  }

  async consoleLog(): Promise<string> {
    throw unsupportedError('return the console output of a machine');
  }

  async metrics(): Promise<MachineMetrics> {
    throw unsupportedError('measure a machine');
  }

  async exec(): Promise<ExecResult> {
    throw unsupportedError('run commands inside a machine');
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  async #usable(machine: MachineRef, what: string, signal: AbortSignal): Promise<LocatedMachine['node']> {
    assertAccessNotCut(await this.#deps.there(machine, signal));
    const located = await this.#power.deployed(machine, what, signal);
    assertAccessNotCut(located);
    return located.node;
  }
}

/** Ironic has lost the BMC of the node, or no conductor is alive, so its data may be outdated. */
function isNodeUnreachable({ node, phase }: LocatedMachine): boolean {
  return hasNoConductor(node) || (phase === 'deployed' && !isPowerKnown(node));
}

function unsupportedError(what: string): IronicError {
  return new IronicError('unsupported', `Ironic cannot ${what}.`);
}
