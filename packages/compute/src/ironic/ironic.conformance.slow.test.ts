import { systemClock } from '@millrace/platform/clock';
import { setProvisionState, waitForNodeState } from '@millrace/testing';
import { expect } from 'vitest';
import { describeDriver, type DriverHarness, type HarnessInfo } from '../conformance/index.ts';
import type { ComputeDriver, MachineSpec } from '../driver.ts';
import { toNodeExtra, newAnnotation } from './ironic-machine.ts';
import { startFakeHardware, type FakeHardware } from './ironic-harness.fixture.ts';

// The suite on a real Ironic with fake hardware: everything that the engine does, and nothing inside a machine.

const bounds = { callMs: 30_000, bootMs: 20_000, failoverMs: 60_000 };
const sshPort = 22;

class IronicHarness implements DriverHarness {
  readonly abilities = {
    exec: false,
    setKeys: false,
    runUserData: false,
    consoleLog: false,
    metrics: false,
    events: false,
    mapsPorts: false,
    sharesNodes: false,
    gpuUse: false,
  };
  readonly hasInside = false;
  #metal: FakeHardware | null = null;

  async open(): Promise<HarnessInfo> {
    this.#metal = await startFakeHardware(6, { takesItsTime: true });
    const { nodes, gpuPciAddresses } = this.#metal;
    return {
      nodes: nodes.slice(0, 5).map((name) => ({ name, gpuPciAddresses })),
      image: 'ubuntu',
      unknownImage: 'no-such-image',
      size: { cpuCount: 128, ramMb: 1_048_576, diskGb: 1_000 },
      freePort: async () => sshPort,
      bounds,
    };
  }

  async close(): Promise<void> {
    await this.#metal?.[Symbol.asyncDispose]();
  }

  async connect(): Promise<ComputeDriver> {
    return this.#there().connect();
  }

  /** Fake nodes have no open ports. */
  reach(): { host: string; port: number } {
    return { host: '127.0.0.1', port: 1 };
  }

  advance(ms: number): Promise<void> {
    return systemClock.sleep(ms);
  }

  /** Leaves an allocated node, as if its creator had died before it annotated the node. */
  async leaveHalfMade(spec: MachineSpec): Promise<void> {
    const { ironic } = this.#there();
    await ironic.call('POST', '/v1/allocations', {
      uuid: spec.externalId,
      name: `mr-${spec.externalId}`,
      resource_class: 'gpu',
      candidate_nodes: [spec.nodeName],
      extra: toNodeExtra(newAnnotation(spec, 'millrace', new Date(0))),
    });
    for (;;) {
      const { state } = await ironic.call<{ state: string }>('GET', `/v1/allocations/${spec.externalId}`);
      if (state === 'active') return;
      expect(state).toBe('allocating');
      await systemClock.sleep(50);
    }
  }

  /** Another client of the same Ironic. */
  async createForeign(): Promise<{ externalId: string; remove(): Promise<void> }> {
    const { ironic, nodes } = this.#there();
    const uuid = nodes.at(-1) ?? expect.fail('There are no nodes.');
    const { uuid: externalId } = await ironic.call<{ uuid: string }>('POST', '/v1/allocations', {
      resource_class: 'gpu',
      candidate_nodes: [uuid],
    });
    await setProvisionState(ironic, uuid, 'active');
    await waitForNodeState(ironic, uuid, ['active']);
    const remove = async (): Promise<void> => {
      await setProvisionState(ironic, uuid, 'deleted');
      await waitForNodeState(ironic, uuid, ['available']);
    };
    return { externalId, remove };
  }

  async killEngineDuringCreate(create: () => Promise<void>): Promise<void> {
    const { ironic } = this.#there();
    const call = create().catch(() => undefined);
    for (;;) {
      const { nodes } = await ironic.call<{ nodes: { provision_state: string }[] }>('GET', '/v1/nodes');
      if (nodes.some(({ provision_state: state }) => state === 'deploying')) break;
    }
    await ironic.crash();
    await call;
    await ironic.start();
  }

  #there(): FakeHardware {
    return this.#metal ?? expect.fail('Ironic is not running.');
  }
}

describeDriver('Ironic', new IronicHarness(), {
  testTimeoutMs: 60_000,
  crashTimeoutMs: 120_000,
  hookTimeoutMs: 180_000,
  sections: [
    'creation',
    'ending',
    'power',
    'GPUs',
    'access',
    'user data',
    'inside',
    'lists and events',
    'refusals',
    'crashes',
  ],
});
