import { expect, it } from 'vitest';
import type { PortMapping } from '../driver.ts';
import { newKeyPair } from './ssh.ts';
import { expectFailure, type Suite } from './suite-context.ts';

/** Logins, keys and ports, and their removal by cutAccess. */
export function describeAccess(stage: Suite): void {
  if (stage.hasInside) describeLogins(stage);
  if (stage.hasInside && stage.harness.abilities.mapsPorts) describePorts(stage);
  if (!stage.harness.abilities.mapsPorts) describeUnmappedPorts(stage);

  it('cutAccess of a machine that is off succeeds and leaves no port open', async () => {
    const spec = await stage.make();
    const view = await stage.view(spec);
    await stage.driver.stop(spec, { graceMs: 0 }, stage.signal());
    await stage.driver.cutAccess(spec, stage.signal());
    expect(await stage.view(spec)).toMatchObject({ power: 'off', ports: [] });
    for (const { externalPort } of spec.ports) {
      await stage.untilClosed(view, externalPort);
    }
  });

  it('cutAccess is permanent: create, start, reboot, setGpus, runUserData and new ports fail with conflict, terminate succeeds', async () => {
    const spec = await stage.make();
    await stage.driver.cutAccess(spec, stage.signal());
    const { other } = stage;
    await expectFailure(other.create(spec, stage.signal()), ['conflict'], 'create');
    await expectFailure(other.start(spec, stage.signal()), ['conflict'], 'start');
    await expectFailure(other.reboot(spec, { graceMs: 0 }, stage.signal()), ['conflict'], 'reboot');
    await expectFailure(other.setPorts(spec, spec.ports, stage.signal()), ['conflict'], 'setPorts');
    await expectFailure(other.setGpus(spec, [], stage.signal()), ['conflict'], 'setGpus');
    const program = other.runUserData(spec, '#!/bin/sh\n', stage.signal());
    await expectFailure(program, [stage.can('runUserData') ? 'conflict' : 'unsupported'], 'runUserData');
    await other.setPorts(spec, [], stage.signal());
    await other.stop(spec, { graceMs: 0 }, stage.signal());
    expect(await stage.view(spec)).toMatchObject({ power: 'off', ports: [] });
    await other.terminate(spec, stage.signal());
    expect(await stage.driver.describe(spec, stage.signal())).toBeNull();
  });

  if (stage.harness.abilities.setKeys) describeKeys(stage);
  else describeNoKeys(stage);
}

function describeNoKeys(stage: Suite): void {
  it('setKeys is unsupported on this engine', async () => {
    await expectFailure(stage.driver.setKeys(stage.unknownMachine(), [], stage.signal()), ['unsupported']);
  });
}

function describeKeys(stage: Suite): void {
  it('setKeys replaces the keys of a running machine: old keys are rejected, new ones work', async () => {
    const spec = await stage.make();
    (await stage.login(spec)).end();
    const next = newKeyPair();
    await stage.driver.setKeys(spec, [next.public], stage.signal());
    await stage.other.setKeys(spec, [next.public], stage.signal());
    (await stage.login(spec, next)).end();
    await expect(stage.tryLogin(spec, stage.key)).rejects.toThrow();
  });
}

function describeUnmappedPorts(stage: Suite): void {
  it('setPorts accepts ports with unchanged numbers, refuses moved ones, and cannot close all while the machine is on', async () => {
    const spec = await stage.make();
    const more = { internalPort: 8_080, externalPort: 8_080, protocol: 'tcp' } as const;
    await stage.driver.setPorts(spec, [...spec.ports, more], stage.signal());
    const moved = [{ ...more, externalPort: 8_081 }];
    await expectFailure(stage.driver.setPorts(spec, moved, stage.signal()), ['refused'], 'moved');
    await expectFailure(stage.driver.setPorts(spec, [], stage.signal()), ['unsupported'], 'none');
    const odd = await stage.newSpec({ ports: moved });
    await expectFailure(stage.driver.create(odd, stage.signal()), ['refused'], 'create');
    await stage.driver.stop(spec, { graceMs: 0 }, stage.signal());
    await stage.driver.setPorts(spec, [], stage.signal());
  });
}

function describeLogins(stage: Suite): void {
  it('only the given key can log in over SSH', async () => {
    const spec = await stage.make({ hostname: 'who-am-i' });
    const session = await stage.login(spec);
    expect((await session.run('hostname')).trim()).toBe('who-am-i');
    session.end();
    await expect(stage.tryLogin(spec, newKeyPair())).rejects.toThrow();
  });

  it('the host key is unchanged after a reboot', async () => {
    const spec = await stage.make();
    const first = await stage.login(spec);
    await stage.driver.reboot(spec, { graceMs: 1_000 }, stage.signal());
    const second = await stage.login(spec);
    expect(second.hostKey).toBe(first.hostKey);
    expect(second.hostKey).not.toBe('');
    first.end();
    second.end();
  });

  it('cutAccess breaks open sessions, closes all ports and powers off', async () => {
    const spec = await stage.make();
    const session = await stage.login(spec);
    const view = await stage.view(spec);
    // From another process than the one that opened the ports.
    await stage.other.cutAccess(spec, stage.signal());
    expect(await stage.view(spec)).toMatchObject({ power: 'off', ports: [] });
    for (const { externalPort } of spec.ports) {
      await stage.untilClosed(view, externalPort);
    }
    let isBroken = false;
    void session.closed.then(() => {
      isBroken = true;
    });
    await stage.until('the open session to break', stage.facts.bounds.callMs, async () => isBroken);
    await stage.driver.cutAccess(spec, stage.signal());
  });
}

function describePorts(stage: Suite): void {
  it('setPorts opens and closes ports to match the set, and an empty set also closes SSH', async () => {
    const spec = await stage.make();
    (await stage.login(spec)).end();
    const [ssh] = spec.ports;
    const custom: PortMapping = {
      internalPort: 8_080,
      externalPort: await stage.facts.freePort(spec.nodeName),
      protocol: 'tcp',
    };
    const all = [ssh ?? expect.fail('The spec has no port.'), custom];
    await stage.driver.setPorts(spec, all, stage.signal());
    const opened = await stage.view(spec);
    expect(opened.ports.toSorted((a, b) => a.internalPort - b.internalPort)).toEqual(all);
    expect(await stage.reaches(opened, custom.externalPort)).toBe(true);
    (await stage.login(spec)).end();

    await stage.driver.setPorts(spec, [custom], stage.signal());
    expect((await stage.view(spec, stage.other)).ports).toEqual([custom]);
    await stage.untilClosed(opened, all[0]?.externalPort ?? 0);
    expect(await stage.reaches(opened, custom.externalPort)).toBe(true);

    await stage.driver.setPorts(spec, [], stage.signal());
    await stage.driver.setPorts(spec, [], stage.signal());
    expect((await stage.view(spec)).ports).toEqual([]);
    await stage.untilClosed(opened, custom.externalPort);
  });
}
