import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '@millrace/platform/clock';
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
import { requireUserDataKind, userDataDigestName } from '../user-data.ts';
import { mockCapabilities } from './capabilities.ts';
import { lastBytes, runCommand } from './commands.ts';
import { createMockControls, type EngineHealth } from './controls.ts';
import { PortListeners } from './port-listeners.ts';
import { readInjectedFault } from './faults.ts';
import {
  defaultLayout,
  inventoryNodeOf,
  requireHardware,
  unreachableInventoryNode,
  type MockLayout,
  type MockNode,
} from './layout.ts';
import type { StoredMachine, MachineStore } from './machine-store.ts';
import { streamEvents } from './mock-events.ts';
import {
  consoleAt,
  isSameMachine,
  isStuck,
  makeMachine,
  metricsAt,
  powerOff,
  powerOn,
  injectedErrorAt,
  assertAccessNotCut,
  assertRecordSize,
  stateAt,
  viewOf,
  type MachineCall,
  type MockMachine,
} from './mock-machine.ts';

export interface MockDriverOptions {
  /** Part of the seed. */
  readonly cluster: string;
  readonly clock: Clock;
  readonly memory: MachineStore;
  readonly layout?: MockLayout;
  /** Determines everything that looks random. Processes that share a machine store must use the same seed. */
  readonly seed?: string;
  /** Opens port listeners on each node's address, or on `bind`. Null if other processes do this. */
  readonly listen?: { readonly bind: string | null } | null;
  readonly controls?: EngineHealth;
  /** Closes the machine store if only this driver uses it. */
  readonly onClose?: () => Promise<void>;
}

const maxAttempts = 50;

/** Creates the mock engine, which runs nothing. Test keys rent its machines. */
export function createMockDriver(options: MockDriverOptions): ComputeDriver {
  return new MockDriver(options);
}

class MockDriver implements ComputeDriver {
  readonly kind = 'mock';
  readonly can = mockCapabilities;
  readonly volumes = null;
  readonly #clock: Clock;
  readonly #memory: MachineStore;
  readonly #layout: MockLayout;
  readonly #nodes: ReadonlyMap<string, MockNode>;
  readonly #seed: string;
  readonly #cluster: string;
  readonly #health: EngineHealth;
  readonly #listeners: PortListeners | null;
  readonly #closing = new AbortController();
  readonly #stopListening: () => void;
  readonly #onClose: () => Promise<void>;

  constructor(options: MockDriverOptions) {
    const { cluster, clock, memory, layout = defaultLayout, seed = 'millrace' } = options;
    const { listen = { bind: null } } = options;
    this.#clock = clock;
    this.#memory = memory;
    this.#layout = layout;
    this.#nodes = new Map(layout.nodes.map((node) => [node.name, node]));
    this.#cluster = cluster;
    this.#seed = `${seed}/${layout.seed ?? cluster}`;
    this.#health = options.controls ?? createMockControls();
    this.#onClose = options.onClose ?? (async () => undefined);
    const listenerDeps = { memory, clock, seed: this.#seed, nodes: this.#nodes };
    this.#listeners = listen === null ? null : new PortListeners({ ...listenerDeps, bind: listen.bind });
    this.#stopListening = memory.onChange((machine) => this.#syncListeners(machine));
  }

  #isNodeSilent(name: string): boolean {
    return this.#health.isNodeSilent(name) || (this.#layout.silentNodes?.includes(name) ?? false);
  }

  readInventory(signal: AbortSignal): Promise<Inventory> {
    return this.#call(signal, async () => {
      // Without its machines the engine does not respond, as a real one.
      await this.#memory.changesSince(null);
      return {
        engine: `Millrace mock (${this.#cluster})`,
        nodes: this.#layout.nodes
          .filter(({ name }) => !this.#health.isNodeRemoved(name))
          .map((node) =>
            this.#isNodeSilent(node.name)
              ? unreachableInventoryNode(node)
              : inventoryNodeOf(node, this.#seed),
          ),
      };
    });
  }

  create(spec: MachineSpec, signal: AbortSignal): Promise<void> {
    return this.#call(signal, async (giveUp) => {
      checkSpec(spec);
      const fault = readInjectedFault(spec.labels);
      if (fault?.name === 'create-fails') {
        throw new DriverError('failed', 'The node could not start the machine.');
      }
      this.#requireHardware(spec);
      await this.#change(spec, 'create', 'created', (machine, nowMs) => {
        if (machine === null) return makeMachine(spec, this.#seed, nowMs);
        assertAccessNotCut(machine);
        if (machine.isHalfMade)
          return { ...makeMachine(spec, this.#seed, nowMs), createdAtMs: machine.createdAtMs };
        if (!isSameMachine(machine, spec)) {
          throw new DriverError('conflict', 'A machine with this id exists and differs from the spec.');
        }
        return powerOn({ ...machine, sshKeys: spec.sshKeys, ports: spec.ports }, nowMs);
      });
      if (fault?.name === 'create-late') await this.#clock.sleep(fault.after_ms, giveUp);
    });
  }

  describe(machine: MachineRef, signal: AbortSignal): Promise<MachineView | null> {
    return this.#call(signal, async () => {
      const stored = await this.#find(machine, 'describe');
      await this.#listeners?.sync(machine, stored?.machine ?? null);
      return stored === null ? null : this.#viewOf(stored.machine);
    });
  }

  start(machine: MachineRef, signal: AbortSignal): Promise<void> {
    return this.#changeExisting(machine, signal, 'start', 'started', powerOn);
  }

  stop(machine: MachineRef, _options: StopOptions, signal: AbortSignal): Promise<void> {
    return this.#changeExisting(machine, signal, 'stop', 'stopped', powerOff);
  }

  reboot(machine: MachineRef, _options: StopOptions, signal: AbortSignal): Promise<void> {
    return this.#changeExisting(machine, signal, 'reboot', 'restarted', (found, nowMs) =>
      powerOn(powerOff(found), nowMs),
    );
  }

  setKeys(machine: MachineRef, keys: readonly string[], signal: AbortSignal): Promise<void> {
    return this.#changeExisting(machine, signal, 'setKeys', 'keys changed', (found, nowMs) => {
      checkKeys(keys);
      this.#requirePower(found, nowMs);
      return { ...found, sshKeys: keys };
    });
  }

  setGpus(machine: MachineRef, gpuPciAddresses: readonly string[], signal: AbortSignal): Promise<void> {
    return this.#changeExisting(machine, signal, 'setGpus', 'GPUs changed', (found) => {
      checkGpus(gpuPciAddresses);
      assertAccessNotCut(found);
      const next = { ...found, gpuPciAddresses };
      if (isSameMachine(found, next)) return found;
      if (found.onSinceMs !== null) throw new DriverError('refused', 'The machine is on: stop it first.');
      this.#requireHardware(next);
      return next;
    });
  }

  runUserData(machine: MachineRef, userData: string, signal: AbortSignal): Promise<void> {
    return this.#changeExisting(machine, signal, 'runUserData', 'user data started', (found, nowMs) => {
      checkUserData(userData);
      requireUserDataKind(userData);
      assertAccessNotCut(found);
      if (!stateAt(found, this.#seed, nowMs).isUp) throw notBootedError();
      const name = userDataDigestName(userData);
      const isKnown = found.userDataRuns.includes(name);
      return isKnown ? found : { ...found, userDataRuns: [...found.userDataRuns, name] };
    });
  }

  setPorts(machine: MachineRef, ports: readonly PortMapping[], signal: AbortSignal): Promise<void> {
    return this.#changeExisting(machine, signal, 'setPorts', 'ports changed', (found) => {
      checkPorts(ports);
      if (ports.length > 0) assertAccessNotCut(found);
      return { ...found, ports };
    });
  }

  cutAccess(machine: MachineRef, signal: AbortSignal): Promise<void> {
    return this.#call(signal, async () => {
      await this.#change(machine, 'cutAccess', 'cut off', (found) =>
        found === null ? null : { ...powerOff(found), ports: [], isCut: true },
      );
    });
  }

  terminate(machine: MachineRef, signal: AbortSignal): Promise<void> {
    return this.#call(signal, async () => {
      const left = await this.#change(machine, 'terminate', 'terminated', (found, nowMs) => {
        if (found === null) return null;
        const requestedAtMs = found.terminateAskedAtMs ?? nowMs;
        const isHeld = isStuck(found, requestedAtMs, nowMs);
        return isHeld ? { ...powerOff(found), terminateAskedAtMs: requestedAtMs } : null;
      });
      if (left !== null) throw new DriverError('busy', 'The disk of this machine is still being deleted.');
    });
  }

  listOwned(signal: AbortSignal): Promise<OwnedMachines> {
    return this.#call(signal, async () => {
      const all = (await this.#memory.list()).map(({ machine }) => machine);
      const isRemoved = (name: string): boolean => this.#health.isNodeRemoved(name);
      const isSilent = (name: string): boolean => this.#isNodeSilent(name);
      const seen = all.filter(({ nodeName }) => !isSilent(nodeName) && !isRemoved(nodeName));
      await Promise.all(seen.map(async (machine) => this.#listeners?.sync(machine, machine)));
      const names = this.#layout.nodes.map(({ name }) => name);
      return {
        machines: seen.map((machine) => this.#listedOf(machine)),
        unreachableNodes: names.filter((name) => isSilent(name) && !isRemoved(name)),
      };
    });
  }

  events(signal: AbortSignal): AsyncIterable<EngineEvent> {
    const source = { memory: this.#memory, clock: this.#clock, health: this.#health };
    return streamEvents({ ...source, closing: this.#closing.signal }, signal);
  }

  consoleLog(machine: MachineRef, { maxBytes }: { maxBytes: number }, signal: AbortSignal): Promise<string> {
    return this.#call(signal, async () => {
      const found = await this.#require(machine, 'consoleLog');
      return lastBytes(consoleAt(found, this.#seed, this.#clock.nowMs()), maxBytes);
    });
  }

  metrics(machine: MachineRef, signal: AbortSignal): Promise<MachineMetrics> {
    return this.#call(signal, async () => {
      const found = await this.#require(machine, 'metrics');
      return metricsAt(found, this.#seed, this.#clock.nowMs());
    });
  }

  exec(machine: MachineRef, command: ExecCommand, signal: AbortSignal): Promise<ExecResult> {
    return this.#call(signal, async (giveUp) => {
      checkArgv(command);
      const found = await this.#require(machine, 'exec');
      const nowMs = this.#clock.nowMs();
      if (!stateAt(found, this.#seed, nowMs).isUp) throw notBootedError();
      const node = this.#nodeOf(found.nodeName);
      const inside = { machine: found, node, seed: this.#seed, nowMs, maxBytes: command.maxBytes };
      const { waitMs, ...result } = runCommand(command.argv, inside);
      if (waitMs > 0) await this.#clock.sleep(Math.min(waitMs, command.timeoutMs), giveUp);
      if (waitMs > command.timeoutMs) {
        throw new DriverError('unavailable', `The command took longer than ${command.timeoutMs} ms.`);
      }
      return result;
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#stopListening();
    await this.#listeners?.close();
    await this.#onClose();
  }

  /** Runs a call until it ends or is aborted, and converts other errors to `DriverError`. */
  async #call<T>(signal: AbortSignal, work: (giveUp: AbortSignal) => Promise<T>): Promise<T> {
    const giveUp = AbortSignal.any([signal, this.#closing.signal]);
    if (giveUp.aborted) throw this.#givenUp();
    if (this.#health.isSilent) throw new DriverError('unavailable', 'The mock engine does not respond.');
    let stopWaiting = (): void => undefined;
    try {
      return await new Promise<T>((resolve, reject) => {
        const onAbort = (): void => reject(this.#givenUp());
        giveUp.addEventListener('abort', onAbort);
        stopWaiting = () => giveUp.removeEventListener('abort', onAbort);
        work(giveUp).then(resolve, reject);
      });
    } catch (error) {
      if (isDriverError(error)) throw error;
      throw new DriverError('unavailable', 'The machine store of the mock engine did not respond.', {
        cause: error,
      });
    } finally {
      stopWaiting();
    }
  }

  #givenUp(): DriverError {
    const why = this.#closing.signal.aborted ? 'The connection is closed.' : 'The caller aborted the call.';
    return new DriverError('unavailable', why);
  }

  /** Reads the record and applies injected faults; null if it does not exist. */
  async #find(machine: MachineRef, call: MachineCall): Promise<StoredMachine | null> {
    checkRef(machine);
    const stored = await this.#memory.read(machine);
    if (stored === null || this.#health.isNodeRemoved(stored.machine.nodeName)) return null;
    if (this.#isNodeSilent(stored.machine.nodeName)) {
      throw new DriverError('unavailable', `The node ${stored.machine.nodeName} does not respond.`);
    }
    const counted =
      readInjectedFault(stored.machine.labels)?.name === 'flaky' ? await this.#count(machine) : stored;
    const error =
      counted === null ? null : injectedErrorAt(counted.machine, call, this.#seed, this.#clock.nowMs());
    if (error !== null) throw error;
    return counted;
  }

  async #count(machine: MachineRef): Promise<StoredMachine | null> {
    for (;;) {
      const stored = await this.#memory.read(machine);
      if (stored === null) return null;
      const next = { ...stored.machine, calls: stored.machine.calls + 1 };
      const version = await this.#memory.write(machine, stored.version, next, null);
      if (version !== null) return { machine: next, version };
    }
  }

  async #require(machine: MachineRef, call: MachineCall): Promise<MockMachine> {
    const stored = await this.#find(machine, call);
    if (stored === null) throw machineNotFoundError();
    return stored.machine;
  }

  #changeExisting(
    machine: MachineRef,
    signal: AbortSignal,
    call: MachineCall,
    what: string,
    change: (machine: MockMachine, nowMs: number) => MockMachine,
  ): Promise<void> {
    return this.#call(signal, async () => {
      await this.#change(machine, call, what, (found, nowMs) => {
        if (found === null) throw machineNotFoundError();
        if (found.isHalfMade) throw new DriverError('refused', 'The machine is incomplete: create it again.');
        return change(found, nowMs);
      });
    });
  }

  /** Changes the record by compare-and-set, retries after concurrent changes, and returns the result. */
  async #change(
    machine: MachineRef,
    call: MachineCall,
    what: string,
    change: (found: MockMachine | null, nowMs: number) => MockMachine | null,
  ): Promise<MockMachine | null> {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const stored = await this.#find(machine, call);
      const next = change(stored?.machine ?? null, this.#clock.nowMs());
      if (isDeepStrictEqual(next, stored?.machine ?? null)) {
        await this.#listeners?.sync(machine, next);
        return next;
      }
      if (next !== null) assertRecordSize(next);
      const dies = call === 'create' && this.#health.takeDeath();
      const written = dies && next !== null ? { ...powerOff(next), isHalfMade: true } : next;
      const labels = (next ?? stored?.machine)?.labels ?? {};
      const hint = readInjectedFault(labels)?.name === 'lost-events' ? null : what;
      const version = await this.#memory.write(machine, stored?.version ?? null, written, hint);
      if (version === null) continue;
      if (dies) throw new DriverError('unavailable', 'The mock engine died while it created the machine.');
      return next;
    }
    throw new DriverError('busy', 'The machine changes too often; retry later.');
  }

  async #syncListeners(machine: MachineRef): Promise<void> {
    if (this.#listeners === null) return;
    const stored = await this.#memory.read(machine);
    await this.#listeners.sync(machine, stored?.machine ?? null);
  }

  #viewOf(machine: MockMachine): MachineView {
    return viewOf(machine, this.#nodeOf(machine.nodeName).address, this.#seed, this.#clock.nowMs());
  }

  /** A list comes from the engine's own data, so it contains an unreachable machine as `error`. */
  #listedOf(machine: MockMachine): MachineView {
    const view = this.#viewOf(machine);
    const error = injectedErrorAt({ ...machine, calls: 1 }, 'describe', this.#seed, this.#clock.nowMs());
    return error === null ? view : { ...view, power: 'error', detail: error.message };
  }

  #nodeOf(nodeName: string): MockNode {
    const node = this.#nodes.get(nodeName);
    if (node === undefined || this.#health.isNodeRemoved(nodeName)) {
      throw new DriverError('not_found', `The cluster has no node ${nodeName}.`);
    }
    return node;
  }

  #requireHardware(spec: MachineSpec): void {
    const node = this.#nodeOf(spec.nodeName);
    if (this.#isNodeSilent(node.name)) {
      throw new DriverError('unavailable', `The node ${node.name} does not respond.`);
    }
    requireHardware(node, this.#layout.images, spec);
  }

  #requirePower(machine: MockMachine, nowMs: number): void {
    if (stateAt(machine, this.#seed, nowMs).onSinceMs === null) {
      throw new DriverError('unavailable', 'The machine is off and cannot install keys.');
    }
  }
}

function notBootedError(): DriverError {
  return new DriverError('unavailable', 'The machine has not booted.');
}

function machineNotFoundError(): DriverError {
  return new DriverError('not_found', 'The mock engine has no such machine.');
}
