import { expect, it } from 'vitest';
import type { Stage } from './stage.ts';

export function describePower(stage: Stage): void {
  it('stop powers off and keeps node, GPUs and ports; start powers on again; both may be repeated', async () => {
    const gpuPciAddresses = [stage.gpu(stage.node(0), 0)];
    const wish = await stage.make({ gpuPciAddresses });
    const kept = { nodeName: wish.nodeName, gpuPciAddresses, ports: wish.ports };
    await stage.driver.stop(wish, { graceMs: 1_000 }, stage.signal());
    await stage.other.stop(wish, { graceMs: 1_000 }, stage.signal());
    expect(await stage.view(wish)).toMatchObject({ power: 'off', ...kept });
    await stage.driver.start(wish, stage.signal());
    await stage.other.start(wish, stage.signal());
    expect(await stage.view(wish)).toMatchObject({ power: 'on', ...kept });
    (await stage.login(wish)).end();
  });

  it('reboot ends what ran inside and starts anew; of a machine that is off it is a start', async () => {
    const wish = await stage.make();
    const session = await stage.login(wish);
    await stage.driver.reboot(wish, { graceMs: 1_000 }, stage.signal());
    expect(await stage.view(wish)).toMatchObject({ power: 'on' });
    let isBroken = false;
    void session.closed.then(() => {
      isBroken = true;
    });
    // Not every engine resets what was open: what counts is that nothing answers there any more.
    await stage.until('the end of the session', stage.facts.bounds.bootMs, async () => {
      if (isBroken) return true;
      return session.run('true').then(
        () => false,
        () => true,
      );
    });
    session.end();
    await stage.driver.stop(wish, { graceMs: 0 }, stage.signal());
    await stage.driver.reboot(wish, { graceMs: 0 }, stage.signal());
    expect(await stage.view(wish)).toMatchObject({ power: 'on', ports: wish.ports });
  });

  it('stop and start at once leave the machine in one of the two states, and whole', async () => {
    const wish = await stage.make();
    const outcomes = await Promise.allSettled([
      stage.driver.stop(wish, { graceMs: 0 }, stage.signal()),
      stage.other.start(wish, stage.signal()),
    ]);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ kind: 'busy' });
    }
    expect(['on', 'off']).toContain((await stage.view(wish)).power);
    await stage.driver.start(wish, stage.signal());
    expect(await stage.view(wish)).toMatchObject({ power: 'on', ports: wish.ports });
  });
}
