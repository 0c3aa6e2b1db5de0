import { checkGpus, checkPorts, checkRef, checkWish } from '../check-wish.ts';
import type {
  ComputeDriver,
  DriverAbilities,
  EngineEvent,
  ExecResult,
  Inventory,
  MachineMetrics,
  MachineRef,
  MachineView,
  MachineWish,
  OwnedMachines,
  PortMapping,
  StopOptions,
} from '../driver.ts';
import { reportsGpuUse } from '../driver.ts';
import { IronicClient } from './ironic-client.ts';
import { IronicMaker } from './ironic-create.ts';
import { IronicError } from './ironic-errors.ts';
import { IronicInspections } from './ironic-inspections.ts';
import { isForsaken, isPowerKnown, isThere, refuseMapped, viewOf, type Located } from './ironic-machine.ts';
import { IronicParts, refuseIfCut } from './ironic-parts.ts';
import { IronicPool } from './ironic-pool.ts';
import { IronicPower } from './ironic-power.ts';
import { IronicRemover } from './ironic-remove.ts';
import { settingsOf, type IronicDriverOptions } from './ironic-settings.ts';

/** Ironic deploys a disk and switches power. It has no way into what runs on a node, and tells nothing by itself. */
const can: DriverAbilities = {
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
  readonly #parts: IronicParts;
  readonly #power: IronicPower;
  readonly #inspections: IronicInspections;
  readonly #maker: IronicMaker;
  readonly #remover: IronicRemover;

  constructor(options: IronicDriverOptions) {
    const settings = settingsOf(options);
    this.#client = new IronicClient(options, options.clock);
    this.#parts = new IronicParts(this.#client, new IronicPool(this.#client, settings.owner), settings);
    this.#inspections = new IronicInspections(this.#client);
    this.#power = new IronicPower(this.#parts);
    this.#maker = new IronicMaker(this.#parts, this.#power, this.#inspections);
    this.#remover = new IronicRemover(this.#parts, this.#power);
  }

  async readInventory(signal: AbortSignal): Promise<Inventory> {
    const { nodes } = await this.#parts.pool.read(signal);
    return { engine: this.#client.version, nodes: await this.#inspections.inventory(nodes, signal) };
  }

  async create(wish: MachineWish, signal: AbortSignal): Promise<void> {
    checkWish(wish);
    await this.#maker.create(wish, signal);
  }

  async describe(machine: MachineRef, signal: AbortSignal): Promise<MachineView | null> {
    checkRef(machine);
    const located = await this.#parts.pool.find(machine, signal);
    return located === null || !isThere(located) ? null : viewOf(located, this.#parts.settings);
  }

  async start(machine: MachineRef, signal: AbortSignal): Promise<void> {
    checkRef(machine);
    await this.#power.on(await this.#usable(machine, 'start it', signal), signal);
  }

  async stop(machine: MachineRef, options: StopOptions, signal: AbortSignal): Promise<void> {
    checkRef(machine);
    const { node } = await this.#power.deployed(machine, 'stop it', signal);
    await this.#power.off(node, options.graceMs, signal);
  }

  async reboot(machine: MachineRef, options: StopOptions, signal: AbortSignal): Promise<void> {
    checkRef(machine);
    await this.#power.reboot(await this.#usable(machine, 'reboot it', signal), options.graceMs, signal);
  }

  /** The whole address is the tenant's: a port that keeps its number is open already, and none can be closed. */
  async setPorts(machine: MachineRef, ports: readonly PortMapping[], signal: AbortSignal): Promise<void> {
    checkRef(machine);
    checkPorts(ports);
    const located = await this.#parts.there(machine, signal);
    if (ports.length > 0) {
      refuseIfCut(located);
      return refuseMapped(ports);
    }
    const isOff = located.isCut || viewOf(located, this.#parts.settings).power === 'off';
    if (!isOff) throw unsupported('close the ports of a machine that is on');
  }

  async setGpus(machine: MachineRef, gpuPciAddresses: readonly string[], signal: AbortSignal): Promise<void> {
    checkRef(machine);
    checkGpus(gpuPciAddresses);
    const located = await this.#parts.there(machine, signal);
    refuseIfCut(located);
    if (located.mark.gpus.join() === gpuPciAddresses.toSorted().join()) return;
    throw unsupported('give a machine other GPUs than its node has');
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
    const { nodes } = await this.#parts.pool.read(signal);
    const there = nodes.flatMap(({ located }) => (located !== null && isThere(located) ? [located] : []));
    return {
      machines: there.map((located) => viewOf(located, this.#parts.settings)),
      unseen: there.filter(isUnseen).map(({ node }) => node.uuid),
    };
  }

  // oxlint-disable-next-line require-yield -- there is nothing to tell, and the interface has a stream
  async *events(): AsyncIterable<EngineEvent> {
    throw unsupported('tell what changes');
  }

  async setKeys(): Promise<void> {
    throw unsupported('change keys inside a machine');
  }

  async runUserData(): Promise<void> {
    throw unsupported('start user data inside a machine that runs');
  }

  async consoleLog(): Promise<string> {
    throw unsupported('show what a machine wrote to its console');
  }

  async metrics(): Promise<MachineMetrics> {
    throw unsupported('measure a machine');
  }

  async exec(): Promise<ExecResult> {
    throw unsupported('run commands inside a machine');
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  async #usable(machine: MachineRef, what: string, signal: AbortSignal): Promise<Located['node']> {
    refuseIfCut(await this.#parts.there(machine, signal));
    const located = await this.#power.deployed(machine, what, signal);
    refuseIfCut(located);
    return located.node;
  }
}

/** Ironic has lost the BMC of its node, or nobody works on it: what it says of it was true once. */
function isUnseen({ node, phase }: Located): boolean {
  return isForsaken(node) || (phase === 'deployed' && !isPowerKnown(node));
}

function unsupported(what: string): IronicError {
  return new IronicError('unsupported', `Ironic cannot ${what}.`);
}
