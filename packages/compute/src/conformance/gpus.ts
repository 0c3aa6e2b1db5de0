import { expect, it } from 'vitest';
import { loginAndCountGpus, newReadinessKey } from '../readiness/index.ts';
import { expectFailure, type SuiteContext } from './suite-context.ts';

/** Which GPUs a machine has, and how one that is off gets others. */
export function describeGpus(stage: SuiteContext): void {
  if (stage.world.abilities.sharesNodes) describeGpuSelection(stage);
  else describeWholeNode(stage);
}

function describeWholeNode(stage: SuiteContext): void {
  it('a machine has all GPUs of its node: create and setGpus give no other set', async () => {
    const node = stage.node(0);
    const some = await stage.wish({ nodeName: node.name, gpuPciAddresses: [stage.gpu(node, 0)] });
    await expectFailure(stage.driver.create(some, stage.signal()), ['refused'], 'one of several');
    expect(await stage.driver.describe(some, stage.signal())).toBeNull();
    const wish = await stage.make(stage.on(0));
    await stage.driver.stop(wish, { graceMs: 0 }, stage.signal());
    await stage.driver.setGpus(wish, wish.gpuPciAddresses.toReversed(), stage.signal());
    await expectFailure(stage.driver.setGpus(wish, [], stage.signal()), ['unsupported'], 'none');
    await expectFailure(stage.driver.setGpus(wish, ['../x'], stage.signal()), ['refused'], 'a path');
    expect(await stage.view(wish)).toMatchObject({ gpuPciAddresses: wish.gpuPciAddresses });
  });
}

function describeGpuSelection(stage: SuiteContext): void {
  it('setGpus gives a machine that is off other GPUs, more or none, and inside it sees those', async () => {
    const node = stage.node(1);
    const [first, second] = [stage.gpu(node, 0), stage.gpu(node, 1)];
    const key = newReadinessKey();
    const wish = await stage.make({
      nodeName: node.name,
      gpuPciAddresses: [first],
      sshKeys: [key.publicKey],
    });
    for (const gpuPciAddresses of [[second], [first, second], []]) {
      await stage.driver.stop(wish, { graceMs: 0 }, stage.signal());
      await stage.driver.setGpus(wish, gpuPciAddresses, stage.signal());
      await stage.other.setGpus(wish, gpuPciAddresses.toReversed(), stage.signal());
      const view = await stage.view(wish);
      expect(view).toMatchObject({ power: 'off', nodeName: node.name, ports: wish.ports });
      expect(view.gpuPciAddresses.toSorted()).toEqual(gpuPciAddresses.toSorted());
      // Who asks for the machine as it is now finds it, and starts it.
      await stage.other.create({ ...wish, gpuPciAddresses }, stage.signal());
      const look = await stage.until('the machine to let us in', stage.facts.bounds.bootMs, async () => {
        const seen = await loginAndCountGpus(await stage.sshTarget(wish, key.privateKey), stage.signal());
        return seen.outcome === 'in' && seen;
      });
      expect(look.gpuCount).toBe(gpuPciAddresses.length);
    }
  });

  it('setGpus of a machine that is on is refused and changes nothing, unless it has them already', async () => {
    const node = stage.node(0);
    const gpuPciAddresses = [stage.gpu(node, 0)];
    const wish = await stage.make({ gpuPciAddresses });
    await expectFailure(stage.driver.setGpus(wish, [], stage.signal()), ['refused'], 'none');
    const others = stage.driver.setGpus(wish, [stage.gpu(node, 1)], stage.signal());
    await expectFailure(others, ['refused'], 'another');
    await stage.driver.setGpus(wish, gpuPciAddresses, stage.signal());
    expect(await stage.view(wish)).toMatchObject({ power: 'on', gpuPciAddresses });
  });

  it('setGpus refuses what is no GPU, and one that is not there at the latest when the machine starts', async () => {
    const wish = await stage.make();
    await stage.driver.stop(wish, { graceMs: 0 }, stage.signal());
    for (const hostile of [['../../0000:17:00.0'], ['0000:17:00.0', '0000:17:00.0']]) {
      await expectFailure(stage.driver.setGpus(wish, hostile, stage.signal()), ['refused'], hostile.join());
    }
    const missing = stage.driver
      .setGpus(wish, ['00ff:fe:1f.7'], stage.signal())
      .then(() => stage.driver.start(wish, stage.signal()));
    await expectFailure(missing, ['not_found', 'no_capacity'], 'a GPU that is not there');
    await stage.driver.setGpus(wish, [], stage.signal());
    await stage.driver.start(wish, stage.signal());
    expect(await stage.view(wish)).toMatchObject({ power: 'on', gpuPciAddresses: [] });
  });
}
