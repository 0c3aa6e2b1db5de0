import { expect, it } from 'vitest';
import { loginAndCountGpus, newReadinessKey } from '../readiness/index.ts';
import { expectFailure, type Suite } from './suite-context.ts';

export function describeGpus(stage: Suite): void {
  if (stage.harness.abilities.sharesNodes) describeGpuSelection(stage);
  else describeWholeNode(stage);
}

function describeWholeNode(stage: Suite): void {
  it('create and setGpus accept only all GPUs of the node', async () => {
    const node = stage.node(0);
    const some = await stage.newSpec({ nodeName: node.name, gpuPciAddresses: [stage.gpu(node, 0)] });
    await expectFailure(stage.driver.create(some, stage.signal()), ['refused'], 'one of several');
    expect(await stage.driver.describe(some, stage.signal())).toBeNull();
    const spec = await stage.make(stage.on(0));
    await stage.driver.stop(spec, { graceMs: 0 }, stage.signal());
    await stage.driver.setGpus(spec, spec.gpuPciAddresses.toReversed(), stage.signal());
    await expectFailure(stage.driver.setGpus(spec, [], stage.signal()), ['unsupported'], 'none');
    await expectFailure(stage.driver.setGpus(spec, ['../x'], stage.signal()), ['refused'], 'a path');
    expect(await stage.view(spec)).toMatchObject({ gpuPciAddresses: spec.gpuPciAddresses });
  });
}

function describeGpuSelection(stage: Suite): void {
  it('setGpus replaces the GPUs of a machine that is off, and the machine sees the new ones', async () => {
    const node = stage.node(1);
    const [first, second] = [stage.gpu(node, 0), stage.gpu(node, 1)];
    const key = newReadinessKey();
    const spec = await stage.make({
      nodeName: node.name,
      gpuPciAddresses: [first],
      sshKeys: [key.publicKey],
    });
    for (const gpuPciAddresses of [[second], [first, second], []]) {
      await stage.driver.stop(spec, { graceMs: 0 }, stage.signal());
      await stage.driver.setGpus(spec, gpuPciAddresses, stage.signal());
      await stage.other.setGpus(spec, gpuPciAddresses.toReversed(), stage.signal());
      const view = await stage.view(spec);
      expect(view).toMatchObject({ power: 'off', nodeName: node.name, ports: spec.ports });
      expect(view.gpuPciAddresses.toSorted()).toEqual(gpuPciAddresses.toSorted());
      // Create with the new GPUs finds the machine and starts it.
      await stage.other.create({ ...spec, gpuPciAddresses }, stage.signal());
      const look = await stage.until('the readiness login', stage.facts.bounds.bootMs, async () => {
        const seen = await loginAndCountGpus(await stage.sshTarget(spec, key.privateKey), stage.signal());
        return seen.outcome === 'in' && seen;
      });
      expect(look.gpuCount).toBe(gpuPciAddresses.length);
    }
  });

  it('setGpus of a machine that is on is refused and changes nothing, unless it already has them', async () => {
    const node = stage.node(0);
    const gpuPciAddresses = [stage.gpu(node, 0)];
    const spec = await stage.make({ gpuPciAddresses });
    await expectFailure(stage.driver.setGpus(spec, [], stage.signal()), ['refused'], 'none');
    const others = stage.driver.setGpus(spec, [stage.gpu(node, 1)], stage.signal());
    await expectFailure(others, ['refused'], 'another');
    await stage.driver.setGpus(spec, gpuPciAddresses, stage.signal());
    expect(await stage.view(spec)).toMatchObject({ power: 'on', gpuPciAddresses });
  });

  it('setGpus refuses invalid addresses, and a missing GPU fails there or at the next start', async () => {
    const spec = await stage.make();
    await stage.driver.stop(spec, { graceMs: 0 }, stage.signal());
    for (const hostile of [['../../0000:17:00.0'], ['0000:17:00.0', '0000:17:00.0']]) {
      await expectFailure(stage.driver.setGpus(spec, hostile, stage.signal()), ['refused'], hostile.join());
    }
    const missing = stage.driver
      .setGpus(spec, ['00ff:fe:1f.7'], stage.signal())
      .then(() => stage.driver.start(spec, stage.signal()));
    await expectFailure(missing, ['not_found', 'no_capacity'], 'a missing GPU');
    await stage.driver.setGpus(spec, [], stage.signal());
    await stage.driver.start(spec, stage.signal());
    expect(await stage.view(spec)).toMatchObject({ power: 'on', gpuPciAddresses: [] });
  });
}
