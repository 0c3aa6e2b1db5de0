import { SimulatedClock } from '@millrace/platform/clock';
import { freePort } from '@millrace/testing';
import type { DriverHarness } from '../conformance/index.ts';
import { createMockControls, createMockDriver, type MachineStore } from './index.ts';
import { defaultLayout, gpuAddressesOf } from './layout.ts';

/** Harness for the mock: advances the simulated clock, and its controls replace kills. */
export function mockHarness(
  openMemory: (clock: SimulatedClock) => Promise<MachineStore>,
  close: () => Promise<void> = async () => undefined,
): DriverHarness {
  const clock = new SimulatedClock();
  const calls = new PendingCalls();
  const controls = createMockControls();
  let memory: MachineStore | undefined;
  const connect = async () => {
    if (memory === undefined) throw new Error('The harness is not open.');
    return createMockDriver({ cluster: 'suite', clock, memory, controls });
  };
  const nodes = defaultLayout.nodes.slice(0, 3);
  return {
    open: async () => {
      memory = calls.watch(await openMemory(clock));
      return {
        nodes: nodes.map((node) => ({ name: node.name, gpuPciAddresses: gpuAddressesOf(node) })),
        image: 'ubuntu-24.04',
        unknownImage: 'no-such-image',
        size: { cpuCount: 2, ramMb: 4_096, diskGb: 20 },
        freePort: () => freePort(),
        bounds: { callMs: 5_000, bootMs: 10_000, failoverMs: 10_000 },
      };
    },
    close,
    connect,
    abilities: {
      exec: true,
      setKeys: true,
      runUserData: true,
      consoleLog: true,
      metrics: true,
      events: true,
      mapsPorts: true,
      sharesNodes: true,
      gpuUse: true,
    },
    reach: (view, port) => ({ host: view.address ?? '', port }),
    // Simulated time passes instantly, so store calls must finish first, or a database would see minutes pass per query.
    advance: async (ms) => {
      await clock.advance(ms);
      await calls.answered();
    },
    leaveHalfMade: async (spec) => {
      controls.dieDuringNextCreate();
      const driver = await connect();
      await driver.create(spec, AbortSignal.timeout(5_000)).catch(() => undefined);
      await driver.close();
    },
    loseEvents: async () => controls.loseEvents(),
    killEngineDuringCreate: async (create) => {
      controls.dieDuringNextCreate();
      await create().catch(() => undefined);
      controls.silenceEngine();
      await clock.advance(3_000);
      controls.heal();
    },
    killMember: async (nodeName) => controls.silenceNode(nodeName),
    killLeader: async () => {
      const [leader] = nodes;
      if (leader === undefined) throw new Error('The mock has no nodes.');
      controls.loseEvents();
      controls.silenceNode(leader.name);
      return leader.name;
    },
    heal: async () => controls.heal(),
  };
}

/** Calls of the machine store that are in progress. */
class PendingCalls {
  readonly #open = new Set<Promise<unknown>>();

  watch(memory: MachineStore): MachineStore {
    const noted = <T>(call: Promise<T>): Promise<T> => {
      const over = call.then(
        () => undefined,
        () => undefined,
      );
      this.#open.add(over);
      void over.then(() => this.#open.delete(over));
      return call;
    };
    return {
      read: (machine) => noted(memory.read(machine)),
      list: () => noted(memory.list()),
      write: (...change) => noted(memory.write(...change)),
      changesSince: (cursor) => noted(memory.changesSince(cursor)),
      onChange: (listener) => memory.onChange(listener),
    };
  }

  async answered(): Promise<void> {
    // Timers that fired start their calls in a later turn.
    await new Promise(setImmediate);
    while (this.#open.size > 0) {
      await Promise.all(this.#open);
      await new Promise(setImmediate);
    }
  }
}
