import { readNode, waitForNodeState } from '@millrace/testing';
import { afterAll, afterEach, expect, it } from 'vitest';
import { isDriverError } from '../driver-error.ts';
import type { ComputeDriver, MachineSpec } from '../driver.ts';
import { startFakeHardware } from './ironic-harness.fixture.ts';
import { machineSpecFor } from './fake-ironic.fixture.ts';

// Concurrent requests for sixteen nodes of fake hardware in a real Ironic.

const nodeCount = 16;
const soon = (): AbortSignal => AbortSignal.timeout(300_000);

const metal = await startFakeHardware(nodeCount, { takesItsTime: false });
// As two processes.
const drivers = [metal.connectBare(), metal.connectBare()];

afterAll(async () => {
  await Promise.all(drivers.map((driver) => driver.close()));
  await metal[Symbol.asyncDispose]();
});

/** All specs of a test, whether they succeeded or not. */
let specs: MachineSpec[] = [];

afterEach(async () => {
  await removeAll(specs);
  specs = [];
});

function specOn(uuid: string): MachineSpec {
  const spec = machineSpecFor({ uuid });
  specs.push(spec);
  return spec;
}

function driverAt(index: number): ComputeDriver {
  return drivers[index % drivers.length] ?? expect.fail('There is no driver.');
}

function nodeAt(index: number): string {
  return metal.nodes[index] ?? expect.fail(`There is no node ${index}.`);
}

type Outcome = { readonly spec: MachineSpec; readonly kind: string };

/** Retries temporary failures, as rentals do. */
async function repeat(work: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await work();
      return;
    } catch (error) {
      if (!isDriverError(error) || error.isFinal || tries > 20) throw error;
    }
  }
}

async function tryCreate(spec: MachineSpec, index: number): Promise<Outcome> {
  try {
    await repeat(() => driverAt(index).create(spec, soon()));
    return { spec, kind: 'made' };
  } catch (error) {
    return { spec, kind: isDriverError(error) ? error.kind : String(error) };
  }
}

async function removeAll(requests: readonly MachineSpec[]): Promise<void> {
  await Promise.all(requests.map((spec, index) => repeat(() => driverAt(index).terminate(spec, soon()))));
}

async function allocations(): Promise<readonly string[]> {
  type Page = { readonly allocations: readonly { readonly uuid: string }[] };
  const page = await metal.ironic.call<Page>('GET', '/v1/allocations');
  return page.allocations.map(({ uuid }) => uuid);
}

async function settled(spec: MachineSpec): Promise<void> {
  await waitForNodeState(metal.ironic, spec.nodeName, ['active']);
}

it('each node goes to exactly one of two gangs that request the same sixteen nodes repeatedly', async () => {
  const gangs = [metal.nodes.map(specOn), metal.nodes.map(specOn)];
  // Each machine of the first gang is requested twice, by both processes.
  const outcomes = await Promise.all(
    [...gangs, gangs[0] ?? []].flatMap((gang, process) => gang.map((spec) => tryCreate(spec, process))),
  );
  const made = new Set(outcomes.filter(({ kind }) => kind === 'made').map(({ spec }) => spec));
  expect(new Set([...made].map(({ nodeName }) => nodeName))).toEqual(new Set(metal.nodes));
  expect(made.size).toBe(nodeCount);
  // A failure is final, so that the caller tries other nodes instead of waiting.
  for (const { spec, kind } of outcomes) expect(made.has(spec) ? 'made' : 'no_capacity').toBe(kind);
  const ids = [...made].map(({ externalId }) => externalId).toSorted();
  const { machines } = await driverAt(0).listOwned(soon());
  expect(machines.map(({ externalId }) => externalId).toSorted()).toEqual(ids);
  expect((await allocations()).toSorted()).toEqual(ids);
  await Promise.all([...made].map(settled));
  await removeAll(gangs.flat());
  expect(await allocations()).toEqual([]);
  const { nodes } = await driverAt(1).readInventory(soon());
  expect(nodes.filter(({ reachable }) => reachable)).toHaveLength(nodeCount);
  expect((await driverAt(1).listOwned(soon())).machines).toEqual([]);
});

it('a node that another client took in Ironic is refused permanently, and the rest of the gang is removed', async () => {
  const [taken, ...others] = metal.nodes.slice(0, 4);
  const uuid = taken ?? expect.fail('There are no nodes.');
  const outsider = await metal.ironic.call<{ uuid: string }>('POST', '/v1/allocations', {
    resource_class: 'gpu',
    candidate_nodes: [uuid],
  });
  await expect.poll(async () => (await readNode(metal.ironic, uuid)).instance_uuid).toBe(outsider.uuid);
  const gang = [uuid, ...others].map(specOn);
  const outcomes = await Promise.all(gang.map((spec, index) => tryCreate(spec, index)));
  expect(outcomes.map(({ kind }) => kind)).toEqual(['no_capacity', 'made', 'made', 'made']);
  const sold = (await driverAt(0).readInventory(soon())).nodes.find(({ name }) => name === uuid);
  expect(sold).toMatchObject({ reachable: false, hardware: null });
  await removeAll(gang);
  expect((await readNode(metal.ironic, uuid)).instance_uuid).toBe(outsider.uuid);
  await metal.ironic.call('DELETE', `/v1/allocations/${outsider.uuid}`);
  for (const name of others) expect((await readNode(metal.ironic, name)).provision_state).toBe('available');
});

it('a machine that another client undeployed in Ironic is absent, and its node can be rented again', async () => {
  const spec = specOn(nodeAt(5));
  await driverAt(0).create(spec, soon());
  await settled(spec);
  await metal.ironic.call('PUT', `/v1/nodes/${spec.nodeName}/states/provision`, { target: 'deleted' });
  await waitForNodeState(metal.ironic, spec.nodeName, ['available']);
  expect(await driverAt(1).describe(spec, soon())).toBeNull();
  await driverAt(1).terminate(spec, soon());
  const next = specOn(spec.nodeName);
  await driverAt(1).create(next, soon());
  await settled(next);
  expect(await driverAt(0).describe(next, soon())).toMatchObject({ nodeName: spec.nodeName });
  await driverAt(0).terminate(next, soon());
  expect((await readNode(metal.ironic, spec.nodeName)).extra).not.toHaveProperty('millrace_machine');
});

it('a node in maintenance is refused and reported as unreachable', async () => {
  const uuid = nodeAt(6);
  await metal.ironic.call('PUT', `/v1/nodes/${uuid}/maintenance`, { reason: 'a disk fails' });
  const outcome = await tryCreate(specOn(uuid), 0);
  expect(outcome.kind).toBe('no_capacity');
  const node = (await driverAt(0).readInventory(soon())).nodes.find(({ name }) => name === uuid);
  expect(node).toMatchObject({ reachable: false });
  expect(node?.detail).toContain('a disk fails');
  await metal.ironic.call('DELETE', `/v1/nodes/${uuid}/maintenance`);
});
