import { expect, it } from 'vitest';
import type { Suite } from './suite-context.ts';

export function describePower(stage: Suite): void {
  it('stop keeps node, GPUs and ports, start powers on again, and both can be repeated', async () => {
    const spec = await stage.make(stage.on(0, 0));
    const { nodeName, gpuPciAddresses, ports } = spec;
    const expected = { nodeName, gpuPciAddresses, ports };
    await stage.driver.stop(spec, { graceMs: 1_000 }, stage.signal());
    await stage.other.stop(spec, { graceMs: 1_000 }, stage.signal());
    expect(await stage.view(spec)).toMatchObject({ power: 'off', ...expected });
    await stage.driver.start(spec, stage.signal());
    await stage.other.start(spec, stage.signal());
    expect(await stage.view(spec)).toMatchObject({ power: 'on', ...expected });
    if (stage.hasInside) (await stage.login(spec)).end();
  });

  it('reboot starts a machine that is off, and leaves one that is on running', async () => {
    const spec = await stage.make();
    await stage.driver.reboot(spec, { graceMs: 1_000 }, stage.signal());
    expect(await stage.view(spec)).toMatchObject({ power: 'on', ports: spec.ports });
    await stage.driver.stop(spec, { graceMs: 0 }, stage.signal());
    await stage.driver.reboot(spec, { graceMs: 0 }, stage.signal());
    expect(await stage.view(spec)).toMatchObject({ power: 'on', ports: spec.ports });
  });

  if (stage.hasInside) describeReboot(stage);

  it('concurrent stop and start leave the machine complete in one of both states', async () => {
    const spec = await stage.make();
    const outcomes = await Promise.allSettled([
      stage.driver.stop(spec, { graceMs: 0 }, stage.signal()),
      stage.other.start(spec, stage.signal()),
    ]);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ kind: 'busy' });
    }
    expect(['on', 'off']).toContain((await stage.view(spec)).power);
    await stage.driver.start(spec, stage.signal());
    expect(await stage.view(spec)).toMatchObject({ power: 'on', ports: spec.ports });
  });
}

function describeReboot(stage: Suite): void {
  it('reboot ends running sessions and starts again', async () => {
    const spec = await stage.make();
    const session = await stage.login(spec);
    await stage.driver.reboot(spec, { graceMs: 1_000 }, stage.signal());
    expect(await stage.view(spec)).toMatchObject({ power: 'on' });
    let isBroken = false;
    void session.closed.then(() => {
      isBroken = true;
    });
    // Not every engine resets open connections, so the session only must not respond.
    await stage.until('the end of the session', stage.facts.bounds.bootMs, async () => {
      if (isBroken) return true;
      return session.run('true').then(
        () => false,
        () => true,
      );
    });
    session.end();
  });
}
