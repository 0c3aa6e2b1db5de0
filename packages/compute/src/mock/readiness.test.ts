import { freePort } from '@millrace/testing';
import { afterEach, describe, expect, it } from 'vitest';
import type { ComputeDriver } from '../driver.ts';
import { isKeyRejected, loginAndCountGpus, newReadinessKey } from '../readiness/index.ts';
import { mockEngine, longTimeout, machineSpecFor } from './mock-engine.fixture.ts';

const { privateKey, publicKey } = newReadinessKey();

let open: ComputeDriver[] = [];
afterEach(async () => {
  const left = open;
  open = [];
  for (const driver of left) await driver.close();
});

async function mockMachine(changes: Parameters<typeof machineSpecFor>[0] = {}) {
  const engine = mockEngine();
  const host = '127.0.0.1';
  const driver = engine.connect({ bind: host });
  open.push(driver);
  const port = await freePort();
  const ports = [{ internalPort: 22, externalPort: port, protocol: 'tcp' as const }];
  const spec = machineSpecFor({ ports, sshKeys: [publicKey], ...changes });
  await driver.create(spec, longTimeout());
  return {
    ...engine,
    driver,
    spec: spec,
    target: { host, port, user: 'ubuntu', privateKey, hostKey: null as string | null },
  };
}

describe('readiness check of a mock machine', () => {
  it('logs in after the boot, counts the GPUs and returns the host key', async () => {
    const { clock, target } = await mockMachine();
    expect(await loginAndCountGpus(target, longTimeout())).toMatchObject({ outcome: 'not-yet' });
    await clock.advance(10_000);
    const look = await loginAndCountGpus(target, longTimeout());
    expect(look).toMatchObject({ outcome: 'in', gpuCount: 2 });
    const hostKey = look.outcome === 'in' ? look.hostKey : null;
    expect(hostKey).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
    expect(await loginAndCountGpus({ ...target, hostKey }, longTimeout())).toEqual(look);
  });

  it('counts the GPUs that the operating system sees, also none', async () => {
    const bare = await mockMachine({ gpuPciAddresses: [] });
    const short = await mockMachine({ labels: { 'millrace.fault': 'wrong-gpu-count' } });
    for (const [{ clock, target }, gpuCount] of [[bare, 0] as const, [short, 1] as const]) {
      await clock.advance(10_000);
      expect(await loginAndCountGpus(target, longTimeout())).toMatchObject({ outcome: 'in', gpuCount });
    }
  });

  it('isKeyRejected returns refused for a removed key, accepted for an installed one, unreachable if the machine is off', async () => {
    const { clock, driver, spec, target } = await mockMachine();
    await clock.advance(10_000);
    expect(await isKeyRejected(target, longTimeout())).toBe('accepted');
    await driver.setKeys(spec, [newReadinessKey().publicKey], longTimeout());
    expect(await isKeyRejected(target, longTimeout())).toBe('refused');
    expect(await loginAndCountGpus(target, longTimeout())).toMatchObject({ outcome: 'refused' });
    await driver.stop(spec, { graceMs: 0 }, longTimeout());
    expect(await isKeyRejected(target, longTimeout())).toBe('unreachable');
  });

  it('detects another machine at the same address, and does not count its rejection of the key', async () => {
    const { clock, driver, spec, target } = await mockMachine();
    await clock.advance(10_000);
    const look = await loginAndCountGpus(target, longTimeout());
    const pinned = { ...target, hostKey: look.outcome === 'in' ? look.hostKey : null };
    await driver.terminate(spec, longTimeout());
    const other = machineSpecFor({ ports: spec.ports });
    await driver.create(other, longTimeout());
    await clock.advance(10_000);
    expect(await loginAndCountGpus(pinned, longTimeout())).toMatchObject({ outcome: 'wrong-host-key' });
    expect(await isKeyRejected(pinned, longTimeout())).toBe('unreachable');
    expect(await isKeyRejected(target, longTimeout())).toBe('refused');
  });
});
