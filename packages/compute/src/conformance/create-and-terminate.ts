import { expect, it } from 'vitest';
import type { MachineRef, MachineSpec } from '../driver.ts';
import { expectFailure, type Suite } from './suite-context.ts';

export function describeCreation(stage: Suite): void {
  it('readInventory lists all nodes with the PCI addresses of their GPUs', async () => {
    // A node that did not respond in time is reported as unreachable for some seconds.
    const { bootMs } = stage.facts.bounds;
    const { engine, nodes } = await stage.until('all nodes to be reachable', bootMs, async () => {
      const inventory = await stage.driver.readInventory(stage.signal());
      return inventory.nodes.every(({ reachable }) => reachable) && inventory;
    });
    expect(engine).not.toBe('');
    for (const known of stage.facts.nodes) {
      const node = nodes.find(({ name }) => name === known.name);
      expect(node, known.name).toMatchObject({ reachable: true });
      expect(node?.address).not.toBeNull();
      const addresses = node?.hardware?.gpus.map(({ pciAddress }) => pciAddress);
      expect(addresses?.toSorted()).toEqual(known.gpuPciAddresses.toSorted());
    }
  });

  it('create makes the machine of the spec, with node, GPUs, ports and labels, and it powers on by itself', async () => {
    const node = stage.node(0);
    const labels = { 'millrace.rental': '1042', team: 'vision, with commas: and "quotes"' };
    const spec = await stage.newSpec({ ...stage.on(0, 1), labels });
    await stage.driver.create(spec, stage.signal());
    // `off` would mean that the start failed.
    expect(['changing', 'on']).toContain((await stage.view(spec, stage.other)).power);
    const { machines } = await stage.other.listOwned(stage.signal());
    const listed = machines.find(({ externalId }) => externalId === spec.externalId);
    expect(['changing', 'on']).toContain(listed?.power);
    const view = await stage.settled(spec);
    expect(view).toMatchObject({
      externalId: spec.externalId,
      orgId: stage.orgId,
      nodeName: node.name,
      power: 'on',
      gpuPciAddresses: spec.gpuPciAddresses,
      ports: spec.ports,
    });
    expect(view.labels).toMatchObject(labels);
    expect(view.address).not.toBeNull();
  });

  describeRepeatedCreate(stage);
  describeRefusedCreate(stage);
  describePartialCreate(stage);
}

function describeRepeatedCreate(stage: Suite): void {
  it('create of an existing machine changes nothing and returns the same result', async () => {
    const spec = await stage.make(stage.on(0, 0));
    const before = await stage.view(spec);
    await stage.other.create(spec, stage.signal());
    const after = await stage.settled(spec);
    expect(after).toMatchObject({ createdAt: before.createdAt, gpuPciAddresses: before.gpuPciAddresses });
    await expectSingleMachine(stage, spec);
  });

  it('concurrent creates from two connections make one machine', async () => {
    const spec = await stage.newSpec(stage.on(0, 0));
    const drivers = [stage.driver, stage.other, stage.driver];
    await Promise.all(drivers.map((driver) => driver.create(spec, stage.signal())));
    expect(await stage.settled(spec)).toMatchObject({ power: 'on' });
    await expectSingleMachine(stage, spec);
  });

  it('stop, setPorts and cutAccess right after create take effect after the start', async () => {
    const [stopped, closed, cut] = [await stage.newSpec(), await stage.newSpec(), await stage.newSpec()];
    const { mapsPorts } = stage.harness.abilities;
    await stage.driver.create(stopped, stage.signal());
    await stage.other.stop(stopped, { graceMs: 0 }, stage.signal());
    expect(await stage.view(stopped)).toMatchObject({ power: 'off', ports: stopped.ports });
    await stage.driver.create(closed, stage.signal());
    const left = mapsPorts ? [] : closed.ports;
    await stage.other.setPorts(closed, left, stage.signal());
    expect(await stage.settled(closed)).toMatchObject({ power: 'on', ports: left });
    await stage.driver.create(cut, stage.signal());
    await stage.other.cutAccess(cut, stage.signal());
    expect(await stage.view(cut)).toMatchObject({ power: 'off', ports: [] });
  });

  it('create with another node, GPU, size or image for an existing id is a conflict and changes nothing', async () => {
    const [here, there] = [stage.node(0), stage.node(1)];
    const spec = await stage.make(stage.on(0, 0));
    const others: Partial<MachineSpec>[] = [
      ...(there === here ? [] : [{ nodeName: there.name, gpuPciAddresses: [stage.gpu(there, 0)] }]),
      { gpuPciAddresses: [stage.gpu(here, 1)] },
      { gpuPciAddresses: [stage.gpu(here, 0), stage.gpu(here, 1)] },
      { gpuPciAddresses: [] },
      { cpuCount: spec.cpuCount + 1 },
      { ramMb: spec.ramMb + 64 },
      { diskGb: spec.diskGb + 1 },
    ];
    for (const other of others) {
      const call = stage.driver.create({ ...spec, ...other }, stage.signal());
      await expectFailure(call, ['conflict'], JSON.stringify(other));
    }
    const renamed = stage.driver.create({ ...spec, image: stage.facts.unknownImage }, stage.signal());
    await expectFailure(renamed, ['conflict', 'not_found'], 'another image');
    const view = await stage.view(spec);
    expect(view).toMatchObject({ nodeName: here.name, gpuPciAddresses: spec.gpuPciAddresses });
    await expectSingleMachine(stage, spec);
  });

  it('create starts an existing machine that is off', async () => {
    const spec = await stage.make();
    await stage.driver.stop(spec, { graceMs: 0 }, stage.signal());
    await stage.other.create(spec, stage.signal());
    expect(await stage.settled(spec)).toMatchObject({ power: 'on', ports: spec.ports });
  });
}

function describeRefusedCreate(stage: Suite): void {
  it('create with an unknown node or image fails permanently and leaves nothing behind', async () => {
    const { unknownImage } = stage.facts;
    const nowhere = await stage.newSpec({ nodeName: 'no-such-node', ports: [] });
    await expectFailure(stage.driver.create(nowhere, stage.signal()), ['not_found'], 'node');
    const blank = await stage.newSpec({ image: unknownImage, ports: [] });
    await expectFailure(stage.driver.create(blank, stage.signal()), ['not_found'], 'image');
    for (const spec of [nowhere, blank]) {
      expect(await stage.driver.describe(spec, stage.signal())).toBeNull();
    }
  });

  it('a GPU that the node does not have fails create or start permanently, and the rest can be terminated', async () => {
    const bare = await stage.newSpec({ gpuPciAddresses: ['00ff:fe:1f.7'], ports: [] });
    await expectFailure(stage.bringUp(bare), ['not_found', 'no_capacity'], 'GPU');
    expect((await stage.driver.describe(bare, stage.signal()))?.power ?? 'off').toBe('off');
    await stage.driver.terminate(bare, stage.signal());
    expect(await stage.driver.describe(bare, stage.signal())).toBeNull();
  });
}

function describePartialCreate(stage: Suite): void {
  const { leaveHalfMade } = stage.harness;
  if (leaveHalfMade === undefined) return;
  it('create completes a partial machine that a crash left behind', async () => {
    const spec = await stage.newSpec(stage.on(0, 0));
    await leaveHalfMade.call(stage.harness, spec);
    expect(await stage.bringUp(spec)).toMatchObject({
      power: 'on',
      gpuPciAddresses: spec.gpuPciAddresses,
      ports: spec.ports,
    });
    if (stage.hasInside) (await stage.login(spec)).end();
    await expectSingleMachine(stage, spec);
  });

  it('terminate deletes a partial machine that a crash left behind', async () => {
    const spec = await stage.newSpec(stage.on(0, 0));
    await leaveHalfMade.call(stage.harness, spec);
    await stage.driver.terminate(spec, stage.signal());
    expect(await stage.driver.describe(spec, stage.signal())).toBeNull();
  });
}

export function describeTermination(stage: Suite): void {
  it('terminate resolves after the machine is released, and can be repeated', async () => {
    const spec = await stage.make();
    const drivers = [stage.driver, stage.other];
    await Promise.all(drivers.map((driver) => driver.terminate(spec, stage.signal())));
    expect(await stage.other.describe(spec, stage.signal())).toBeNull();
    await stage.driver.terminate(spec, stage.signal());
    const { machines } = await stage.driver.listOwned(stage.signal());
    expect(machines.map(({ externalId }) => externalId)).not.toContain(spec.externalId);
  });

  it('describe returns null, and terminate and cutAccess succeed, for an unknown machine', async () => {
    const absent = stage.unknownMachine();
    expect(await stage.driver.describe(absent, stage.signal())).toBeNull();
    await stage.driver.terminate(absent, stage.signal());
    await stage.driver.cutAccess(absent, stage.signal());
  });

  it('methods that need a machine fail with not_found for an unknown one', async () => {
    for (const [method, call] of Object.entries(callsRequiring(stage, stage.unknownMachine()))) {
      await expectFailure(call(), [stage.can(method) ? 'not_found' : 'unsupported'], method);
    }
  });

  it('a reference with another organisation finds and changes nothing', async () => {
    const spec = await stage.make();
    const foreign = { externalId: spec.externalId, orgId: stage.otherOrgId };
    expect(await stage.driver.describe(foreign, stage.signal())).toBeNull();
    await stage.driver.cutAccess(foreign, stage.signal());
    await stage.driver.terminate(foreign, stage.signal());
    for (const [method, call] of Object.entries(callsRequiring(stage, foreign))) {
      await expectFailure(call(), [stage.can(method) ? 'not_found' : 'unsupported'], method);
    }
    expect(await stage.view(spec)).toMatchObject({ power: 'on', ports: spec.ports });
  });
}

/** All methods that need an existing machine. */
function callsRequiring(stage: Suite, machine: MachineRef): Readonly<Record<string, () => Promise<unknown>>> {
  const { driver } = stage;
  return {
    start: () => driver.start(machine, stage.signal()),
    stop: () => driver.stop(machine, { graceMs: 0 }, stage.signal()),
    reboot: () => driver.reboot(machine, { graceMs: 0 }, stage.signal()),
    setPorts: () => driver.setPorts(machine, [], stage.signal()),
    setKeys: () => driver.setKeys(machine, [], stage.signal()),
    setGpus: () => driver.setGpus(machine, [], stage.signal()),
    runUserData: () => driver.runUserData(machine, '#!/bin/sh\n', stage.signal()),
    consoleLog: () => driver.consoleLog(machine, { maxBytes: 100 }, stage.signal()),
    metrics: () => driver.metrics(machine, stage.signal()),
    exec: () => driver.exec(machine, { argv: ['true'], timeoutMs: 1_000, maxBytes: 100 }, stage.signal()),
  };
}

/** Asserts that the engine has exactly one machine with this id. */
export async function expectSingleMachine(stage: Suite, spec: MachineSpec): Promise<void> {
  const { machines } = await stage.driver.listOwned(stage.signal());
  const found = machines.filter(({ externalId }) => externalId === spec.externalId);
  expect(found.map(({ nodeName, orgId }) => ({ nodeName, orgId }))).toEqual([
    { nodeName: spec.nodeName, orgId: spec.orgId },
  ]);
}
