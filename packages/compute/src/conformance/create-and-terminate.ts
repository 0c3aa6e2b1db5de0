import { expect, it } from 'vitest';
import type { MachineRef, MachineSpec } from '../driver.ts';
import { expectFailure, type Suite } from './suite-context.ts';

/** Making a machine: exactly what was asked for, once, whoever asks how often. */
export function describeCreation(stage: Suite): void {
  it('shows all nodes and the GPUs of each, by address', async () => {
    // A member that did not answer in time is shown as out of reach for some seconds.
    const { bootMs } = stage.facts.bounds;
    const { engine, nodes } = await stage.until('all nodes to be seen', bootMs, async () => {
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

  it('create gives the machine that was asked for: node, GPUs, ports, labels, and it comes on by itself', async () => {
    const node = stage.node(0);
    const labels = { 'millrace.rental': '1042', team: 'vision, with commas: and "quotes"' };
    const spec = await stage.newSpec({ ...stage.on(0, 1), labels });
    await stage.driver.create(spec, stage.signal());
    // Whoever saw it off now would take it for one that could not be started.
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
  it('create of what exists already changes nothing and answers as the first did', async () => {
    const spec = await stage.make(stage.on(0, 0));
    const before = await stage.view(spec);
    await stage.other.create(spec, stage.signal());
    const after = await stage.settled(spec);
    expect(after).toMatchObject({ createdAt: before.createdAt, gpuPciAddresses: before.gpuPciAddresses });
    await expectSingleMachine(stage, spec);
  });

  it('create twice at once from two connections is one machine', async () => {
    const spec = await stage.newSpec(stage.on(0, 0));
    const drivers = [stage.driver, stage.other, stage.driver];
    await Promise.all(drivers.map((driver) => driver.create(spec, stage.signal())));
    expect(await stage.settled(spec)).toMatchObject({ power: 'on' });
    await expectSingleMachine(stage, spec);
  });

  it('what is asked for right after create comes after the start: a stop, other ports, a cut', async () => {
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

  it('create with another node, GPU, size or image under the same id is a conflict and changes nothing', async () => {
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

  it('create starts a machine that exists and is off', async () => {
    const spec = await stage.make();
    await stage.driver.stop(spec, { graceMs: 0 }, stage.signal());
    await stage.other.create(spec, stage.signal());
    expect(await stage.settled(spec)).toMatchObject({ power: 'on', ports: spec.ports });
  });
}

function describeRefusedCreate(stage: Suite): void {
  it('a node or an image that is not there is a final refusal, and leaves nothing behind', async () => {
    const { unknownImage } = stage.facts;
    const nowhere = await stage.newSpec({ nodeName: 'no-such-node', ports: [] });
    await expectFailure(stage.driver.create(nowhere, stage.signal()), ['not_found'], 'node');
    const blank = await stage.newSpec({ image: unknownImage, ports: [] });
    await expectFailure(stage.driver.create(blank, stage.signal()), ['not_found'], 'image');
    for (const spec of [nowhere, blank]) {
      expect(await stage.driver.describe(spec, stage.signal())).toBeNull();
    }
  });

  it('a GPU that is not there is a final refusal, of create or of the start, and what is left can be removed', async () => {
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
  it('create finishes a machine that a crash left half-made', async () => {
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

  it('terminate releases a machine that a crash left half-made', async () => {
    const spec = await stage.newSpec(stage.on(0, 0));
    await leaveHalfMade.call(stage.harness, spec);
    await stage.driver.terminate(spec, stage.signal());
    expect(await stage.driver.describe(spec, stage.signal())).toBeNull();
  });
}

/** Ending a machine, and what is said of one that is not there. */
export function describeTermination(stage: Suite): void {
  it('terminate releases the machine before it answers, and a second one is done too', async () => {
    const spec = await stage.make();
    const drivers = [stage.driver, stage.other];
    await Promise.all(drivers.map((driver) => driver.terminate(spec, stage.signal())));
    expect(await stage.other.describe(spec, stage.signal())).toBeNull();
    await stage.driver.terminate(spec, stage.signal());
    const { machines } = await stage.driver.listOwned(stage.signal());
    expect(machines.map(({ externalId }) => externalId)).not.toContain(spec.externalId);
  });

  it('a machine that is not there is null to describe, and done to terminate and to cutAccess', async () => {
    const absent = stage.unknownMachine();
    expect(await stage.driver.describe(absent, stage.signal())).toBeNull();
    await stage.driver.terminate(absent, stage.signal());
    await stage.driver.cutAccess(absent, stage.signal());
  });

  it('what needs a machine is refused with not_found when there is none', async () => {
    for (const [method, call] of Object.entries(callsRequiring(stage, stage.unknownMachine()))) {
      await expectFailure(call(), [stage.can(method) ? 'not_found' : 'unsupported'], method);
    }
  });

  it("an organisation's reference finds nothing of another's, and harms nothing", async () => {
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

/** Every method that makes no sense without a machine, on this one. */
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

/** That the engine has this machine exactly once, on one node. */
export async function expectSingleMachine(stage: Suite, spec: MachineSpec): Promise<void> {
  const { machines } = await stage.driver.listOwned(stage.signal());
  const found = machines.filter(({ externalId }) => externalId === spec.externalId);
  expect(found.map(({ nodeName, orgId }) => ({ nodeName, orgId }))).toEqual([
    { nodeName: spec.nodeName, orgId: spec.orgId },
  ]);
}
