import { SimulatedClock } from '@millrace/platform/clock';
import { freePort } from '@millrace/testing';
import type { DriverWorld } from '../conformance/index.ts';
import { createMockControls, createMockDriver, type MockMemory } from './index.ts';
import { defaultLayout, gpuAddressesOf } from './layout.ts';

/** The mock as an engine of the suite: its clock is moved, and its controls do what kills do to a real one. */
export function mockWorld(
  openMemory: (clock: SimulatedClock) => Promise<MockMemory>,
  close: () => Promise<void> = async () => undefined,
): DriverWorld {
  const clock = new SimulatedClock();
  const controls = createMockControls();
  let memory: MockMemory | undefined;
  const connect = async () => {
    if (memory === undefined) throw new Error('The world was not opened.');
    return createMockDriver({ cluster: 'suite', clock, memory, controls });
  };
  const nodes = defaultLayout.nodes.slice(0, 3);
  return {
    open: async () => {
      memory = await openMemory(clock);
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
    abilities: { exec: true, setKeys: true, consoleLog: true, metrics: true, events: true },
    reach: (view, port) => ({ host: view.address ?? '', port }),
    advance: (ms) => clock.advance(ms),
    leaveHalfMade: async (wish) => {
      controls.dieDuringNextCreate();
      const driver = await connect();
      await driver.create(wish, AbortSignal.timeout(5_000)).catch(() => undefined);
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
