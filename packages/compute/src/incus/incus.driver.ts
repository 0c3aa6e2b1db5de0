import type { NetGuard } from '@millrace/platform/net';
import {
  checkArgv,
  checkGpus,
  checkKeys,
  checkPorts,
  checkRef,
  checkUserData,
  checkSpec,
} from '../check-spec.ts';
import { DriverError, isDriverError } from '../driver-error.ts';
import type {
  ComputeDriver,
  DriverCapabilities,
  DriverVolumes,
  EngineEvent,
  ExecCommand,
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
import { stateSchema } from './api/schemas.ts';
import { IncusNics } from './incus-nics.ts';
import { IncusClient } from './api/incus-client.ts';
import { IncusCluster } from './incus-cluster.ts';
import { IncusProvisioner } from './incus-provisioner.ts';
import { IncusError } from './api/incus-errors.ts';
import { readEvents } from './api/incus-events.ts';
import { execInInstance } from './incus-exec.ts';
import { IncusFiles } from './incus-files.ts';
import { IncusImages } from './incus-images.ts';
import {
  gpuDevices,
  gpusOf,
  isOff,
  isOn,
  configKeys,
  metricsOf,
  assertAccessNotCut,
  viewOf,
  userIn,
} from './incus-instance.ts';
import { IncusInstances, instanceLocation } from './incus-instances.ts';
import { listOwned } from './incus-list.ts';
import { isAccess } from './incus-ports.ts';
import { settingsOf, type IncusDriverOptions, type IncusSettings } from './incus-settings.ts';
import { startUserData } from './incus-user-data.ts';
import { IncusVolumes } from './incus-volumes.ts';

const consoleBytes = 16 * 1_048_576;

export class IncusDriver implements ComputeDriver {
  readonly kind = 'incus';
  readonly can: DriverCapabilities;
  readonly volumes: DriverVolumes;
  readonly guard?: NetGuard;
  readonly #client: IncusClient;
  readonly #settings: IncusSettings;
  readonly #cluster: IncusCluster;
  readonly #instances: IncusInstances;
  readonly #nics: IncusNics;
  readonly #files: IncusFiles;
  readonly #maker: IncusProvisioner;

  constructor(options: IncusDriverOptions) {
    const settings = settingsOf(options);
    const isContainer = settings.instanceType === 'container';
    // Incus reaches into a VM only through its agent, which tenants' images need not have.
    this.can = {
      exec: isContainer,
      setKeys: isContainer,
      runUserData: isContainer,
      consoleLog: isContainer,
      metrics: true,
      gpuUse: reportsGpuUse.incus,
      events: true,
      mapsPorts: true,
      sharesNodes: true,
    };
    if ('guard' in options && options.guard !== undefined) this.guard = options.guard;
    const client = new IncusClient(options, options.clock, { project: settings.project });
    const cluster = new IncusCluster(client, options);
    const instances = new IncusInstances(client);
    const files = new IncusFiles(client);
    const images = new IncusImages({ client, cluster, settings, log: options.log });
    const nics = new IncusNics({ client, cluster, instances, settings });
    const deps = { client, cluster, instances, nics, files, images, settings };
    this.#client = client;
    this.#settings = settings;
    this.#cluster = cluster;
    this.#instances = instances;
    this.#nics = nics;
    this.#files = files;
    this.#maker = new IncusProvisioner(deps);
    this.volumes = new IncusVolumes(deps);
  }

  readInventory(signal: AbortSignal): Promise<Inventory> {
    return this.#cluster.readInventory(signal);
  }

  async create(spec: MachineSpec, signal: AbortSignal): Promise<void> {
    checkSpec(spec);
    await this.#maker.create(spec, signal);
  }

  async describe(machine: MachineRef, signal: AbortSignal): Promise<MachineView | null> {
    checkRef(machine);
    const observed = await this.#instances.observe(machine, signal);
    if (observed === null) return null;
    const name = await this.#cluster.nodeNameOf(observed.instance, signal);
    const address = await this.#cluster.addressOf(name, signal);
    return viewOf(observed, { name, address }, this.#settings);
  }

  async start(machine: MachineRef, signal: AbortSignal): Promise<void> {
    checkRef(machine);
    const instance = await this.#instances.get(machine, signal);
    assertAccessNotCut(instance.config);
    await this.#nics.addFilters(machine, instance, signal);
    await this.#nics.start(machine, signal);
  }

  async stop(machine: MachineRef, options: StopOptions, signal: AbortSignal): Promise<void> {
    checkRef(machine);
    await this.#instances.stop(machine, options.graceMs, signal);
  }

  async reboot(machine: MachineRef, options: StopOptions, signal: AbortSignal): Promise<void> {
    checkRef(machine);
    const instance = await this.#instances.get(machine, signal);
    assertAccessNotCut(instance.config);
    if (!this.#nics.needsFilters(instance)) return this.#instances.restart(machine, options.graceMs, signal);
    // A nic gets its filters while the machine is off, because the operating system requests its address when it starts.
    await this.#instances.stop(machine, options.graceMs, signal);
    return this.start(machine, signal);
  }

  async setKeys(machine: MachineRef, keyLines: readonly string[], signal: AbortSignal): Promise<void> {
    this.#assertCan(this.can.setKeys, 'change keys inside a VM');
    checkRef(machine);
    checkKeys(keyLines);
    const instance = await this.#instances.get(machine, signal);
    const sshUser = userIn(instance.config ?? {}, this.#settings);
    await this.#instances.retryBusy(signal, () => this.#files.writeKeys(machine, keyLines, sshUser, signal));
  }

  async setGpus(machine: MachineRef, gpuPciAddresses: readonly string[], signal: AbortSignal): Promise<void> {
    checkRef(machine);
    checkGpus(gpuPciAddresses);
    await this.#instances.edit(
      machine,
      (instance) => {
        const { config, devices } = instance;
        assertAccessNotCut(config);
        if (gpusOf(devices ?? {}).join() === gpuPciAddresses.toSorted().join()) return null;
        if (isOn(instance)) throw new IncusError('refused', 'The machine is on: stop it first.');
        if (!isOff(instance)) throw new IncusError('busy', `The machine is ${instance.status}.`);
        const others = Object.entries(devices ?? {}).filter(([, device]) => device['type'] !== 'gpu');
        const next = { ...Object.fromEntries(others), ...gpuDevices(gpuPciAddresses) };
        return { config: config ?? {}, devices: next };
      },
      signal,
    );
  }

  async runUserData(machine: MachineRef, userData: string, signal: AbortSignal): Promise<void> {
    this.#assertCan(this.can.runUserData, 'start user data inside a running VM');
    checkRef(machine);
    checkUserData(userData);
    const instance = await this.#instances.settled(machine, signal);
    assertAccessNotCut(instance.config);
    if (!isOn(instance))
      throw new IncusError('unavailable', 'The machine is off and cannot start user data.');
    await startUserData(this.#client, machine, userData, signal);
  }

  async setPorts(machine: MachineRef, ports: readonly PortMapping[], signal: AbortSignal): Promise<void> {
    checkRef(machine);
    checkPorts(ports);
    await this.#maker.setPorts(machine, ports, signal);
  }

  async cutAccess(machine: MachineRef, signal: AbortSignal): Promise<void> {
    checkRef(machine);
    try {
      await this.#withoutAccess(machine, signal).catch(async (error: unknown) => {
        // A running machine may refuse to release a device; power it off and retry.
        if (!isDriverError(error, 'failed') && !isDriverError(error, 'refused')) throw error;
        await this.#instances.forceStop(machine, signal);
        await this.#withoutAccess(machine, signal);
      });
      await this.#instances.forceStop(machine, signal);
    } catch (error) {
      if (!isDriverError(error, 'not_found')) throw error;
    }
  }

  async terminate(machine: MachineRef, signal: AbortSignal): Promise<void> {
    checkRef(machine);
    await this.#instances.delete(machine, signal);
  }

  listOwned(signal: AbortSignal): Promise<OwnedMachines> {
    const deps = { client: this.#client, cluster: this.#cluster, instances: this.#instances };
    return listOwned({ ...deps, settings: this.#settings }, signal);
  }

  events(signal: AbortSignal): AsyncIterable<EngineEvent> {
    return readEvents(this.#client, signal);
  }

  async consoleLog(
    machine: MachineRef,
    { maxBytes }: { maxBytes: number },
    signal: AbortSignal,
  ): Promise<string> {
    this.#assertCan(this.can.consoleLog, 'show the console of a VM that is off');
    checkRef(machine);
    const { path, query } = instanceLocation(this.#client, machine);
    await this.#instances.get(machine, signal);
    const request = { what: 'read the console', path: `${path}/console`, query, maxBytes: consoleBytes };
    try {
      const { body } = await this.#client.readBytes(request, signal);
      return body.subarray(Math.max(0, body.length - maxBytes)).toString('utf8');
    } catch (error) {
      // A machine that never ran has no log; its existence was checked before.
      if (isDriverError(error, 'not_found')) return '';
      throw error;
    }
  }

  async metrics(machine: MachineRef, signal: AbortSignal): Promise<MachineMetrics> {
    checkRef(machine);
    await this.#refuseForeign(machine, signal);
    const { path, query } = instanceLocation(this.#client, machine);
    const request = { what: 'measure the machine', path: `${path}/state`, query };
    const state = await this.#client.read(request, stateSchema, signal);
    return metricsOf(state, this.#client.clock.now());
  }

  async exec(machine: MachineRef, command: ExecCommand, signal: AbortSignal): Promise<ExecResult> {
    this.#assertCan(this.can.exec, 'run commands inside a VM');
    checkRef(machine);
    checkArgv(command);
    await this.#refuseForeign(machine, signal);
    return execInInstance(this.#client, machine, command, signal);
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  /** Removes ports and nics in one change; the annotation prevents their return. */
  #withoutAccess(machine: MachineRef, signal: AbortSignal): Promise<void> {
    return this.#instances.edit(
      machine,
      ({ config, devices }) => {
        const entries = Object.entries(devices ?? {});
        const left = entries.filter(([, device]) => !isAccess(device));
        if (config?.[configKeys.cut] !== undefined && left.length === entries.length) return null;
        const marks = { [configKeys.cut]: '1', 'boot.autostart': 'false' };
        return { config: { ...config, ...marks }, devices: Object.fromEntries(left) };
      },
      signal,
    );
  }

  /** With one project per organisation the reference suffices; in a shared project the annotation must be checked. */
  async #refuseForeign(machine: MachineRef, signal: AbortSignal): Promise<void> {
    if (this.#settings.project !== null) await this.#instances.get(machine, signal);
  }

  #assertCan(isAble: boolean, what: string): void {
    if (!isAble) throw new DriverError('unsupported', `Incus cannot ${what}.`);
  }
}
