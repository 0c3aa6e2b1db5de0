import { expect, it } from 'vitest';
import {
  handOverOverSsh,
  isKeyRejected,
  loginAndCountGpus,
  newReadinessKey,
  replaceKeysOverSsh,
  type ReadinessResult,
} from '../readiness/index.ts';
import type { MachineRef } from '../driver.ts';
import { userDataLog } from '../user-data.ts';
import type { Suite } from './suite-context.ts';

/** The readiness check must work with machines of this engine as it does for rentals. */
export function describeReadiness(stage: Suite): void {
  if (stage.hasInside) describeHostKey(stage);
  if (stage.harness.abilities.setKeys) describeOneTimeKey(stage);
  if (stage.harness.runsPrograms === true) describeKeysOverSsh(stage);
}

function waitUntilReady(
  stage: Suite,
  machine: MachineRef,
  privateKey: string,
): Promise<Extract<ReadinessResult, { outcome: 'in' }>> {
  return stage.until('the readiness login', stage.facts.bounds.bootMs, async () => {
    const look = await loginAndCountGpus(await stage.sshTarget(machine, privateKey), stage.signal());
    return look.outcome === 'in' && look;
  });
}

function describeHostKey(stage: Suite): void {
  it('the machine has the host key of its spec, and a login that expects another key fails', async () => {
    const [given, other] = [newReadinessKey(), newReadinessKey()];
    const spec = await stage.make({ sshKeys: [given.publicKey], hostKey: given.hostKey });
    const { hostKey } = await waitUntilReady(stage, spec, given.privateKey);
    expect(hostKey).toBe(given.hostKey.fingerprint);
    const target = { ...(await stage.sshTarget(spec, given.privateKey)), hostKey: other.hostKey.fingerprint };
    expect(await loginAndCountGpus(target, stage.signal())).toMatchObject({ outcome: 'wrong-host-key' });
    expect(await isKeyRejected(target, stage.signal())).toBe('unreachable');
  });
}

function describeOneTimeKey(stage: Suite): void {
  it("a one-time key logs in and counts the GPUs, and is rejected after the tenant's keys replaced it", async () => {
    const node = stage.node(0);
    const [platform, tenant] = [newReadinessKey(), newReadinessKey()];
    const gpuPciAddresses = [stage.gpu(node, 0), stage.gpu(node, 1)];
    const spec = await stage.make({ gpuPciAddresses, sshKeys: [platform.publicKey] });
    const { gpuCount, hostKey } = await waitUntilReady(stage, spec, platform.privateKey);
    expect(gpuCount).toBe(2);
    const target = { ...(await stage.sshTarget(spec, platform.privateKey)), hostKey };
    expect(await isKeyRejected(target, stage.signal())).toBe('accepted');
    await stage.driver.setKeys(spec, [], stage.signal());
    expect(await isKeyRejected(target, stage.signal())).toBe('refused');
    await stage.driver.setKeys(spec, [tenant.publicKey], stage.signal());
    expect(await isKeyRejected(target, stage.signal())).toBe('refused');
    const asTenant = { ...target, privateKey: tenant.privateKey };
    expect(await loginAndCountGpus(asTenant, stage.signal())).toEqual({ outcome: 'in', hostKey, gpuCount });
  });
}

function describeKeysOverSsh(stage: Suite): void {
  if (stage.harness.abilities.exec) describeKeyHandOver(stage);
  it('replaceKeysOverSsh replaces all keys or none', async () => {
    const [first, second, third] = [newReadinessKey(), newReadinessKey(), newReadinessKey()];
    const spec = await stage.make({ sshKeys: [first.publicKey] });
    const { hostKey } = await waitUntilReady(stage, spec, first.privateKey);
    const target = { ...(await stage.sshTarget(spec, first.privateKey)), hostKey };
    const keys = [second.publicKey, third.publicKey];
    expect(await replaceKeysOverSsh(target, keys, stage.signal())).toEqual({ outcome: 'replaced' });
    expect(await isKeyRejected(target, stage.signal())).toBe('refused');
    expect(await replaceKeysOverSsh(target, [], stage.signal())).toMatchObject({ outcome: 'refused' });
    for (const { privateKey } of [second, third]) {
      expect(await isKeyRejected({ ...target, privateKey }, stage.signal())).toBe('accepted');
    }
  });
}

/** As root, because not every image lets its user become root without a password. */
function describeKeyHandOver(stage: Suite): void {
  it('handOverOverSsh replaces the keys, runs the preparation and then starts the user data in one session', async () => {
    const [platform, tenant] = [newReadinessKey(), newReadinessKey()];
    const spec = await stage.make({ sshKeys: [platform.publicKey] });
    const { hostKey } = await waitUntilReady(stage, spec, platform.privateKey);
    const inside = async (line: string): Promise<string> => {
      const command = { argv: ['sh', '-c', line], timeoutMs: 10_000, maxBytes: 4_096 };
      return (await stage.driver.exec(spec, command, stage.signal())).stdout.trim();
    };
    await inside(
      'mkdir -p /root/.ssh && cp /home/*/.ssh/authorized_keys /root/.ssh/ && chown -R 0:0 /root/.ssh',
    );
    const target = { ...(await stage.sshTarget(spec, platform.privateKey)), user: 'root', hostKey };
    const seen: string[] = [];
    const handOver = {
      keys: [tenant.publicKey],
      userData: '#!/bin/sh\necho "it\'s $(id -u)"\n',
      first: async () => {
        seen.push(await isKeyRejected(target, stage.signal()), await inside(`cat ${userDataLog} || true`));
      },
    };
    expect(await handOverOverSsh(target, handOver, stage.signal())).toEqual({
      outcome: 'replaced',
      hasStarted: true,
    });
    expect(seen).toEqual(['refused', '']);
    await stage.until('output of the user data', stage.facts.bounds.callMs, async () => {
      return (await inside(`cat ${userDataLog}`)) === "it's 0";
    });
    expect(await handOverOverSsh(target, handOver, stage.signal())).toMatchObject({ outcome: 'refused' });
    expect(await isKeyRejected({ ...target, privateKey: tenant.privateKey }, stage.signal())).toBe(
      'accepted',
    );
  });
}
