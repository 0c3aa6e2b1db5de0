import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createIncusDriver } from '@millrace/compute/incus';
import { defineProof, type ProofReport, type ProofRun } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { defaultCacheDir, withLock } from '@millrace/services';
import { testLog } from '@millrace/testing';
import { hostName, openEmulatedHost } from './incus-vm/host.ts';
import { vmImage } from './incus-vm/image.ts';
import { VmLifecycle } from './incus-vm/machine-lifecycle.ts';
import { requireIncusHost, packages } from './incus-vm/host-packages.ts';
import { toolRunner, unpackPackages } from './build-cache.ts';

/**
 * The Incus driver with a virtual machine that really boots: Debian 12 with cloud-init. Its processor is EMULATED in software,
 * since neither CI nor most machines of developers have one to lend: this says nothing about speed, KVM or GPUs. It takes some
 * ten minutes and fetches 200 MB from Debian the first time, so it is optional.
 */
export const proof = defineProof({
  name: 'incus-vm',
  proves:
    'Through the Incus driver a virtual machine (emulated, for the flow of the interface only) is made once, boots Debian with the keys and user data of its wish, lets in that key and no other, keeps disk and host key over a stop and a reboot, opens and closes ports, and is out of reach after a cut and gone after terminate.',
  short: null,
  long: prove,
});

async function prove({ note }: ProofRun): Promise<ProofReport> {
  requireIncusHost();
  const cache = path.join(defaultCacheDir(), 'incus-vm');
  // The cable to the host has one name, so there is one host at a time.
  return withLock(path.join(defaultCacheDir(), 'incus-vm.lock'), note, async () => {
    note('fetching packages for the emulator, unless they were fetched before');
    const unpacked = await unpackPackages(cache, packages);
    note('making the image of Debian, unless it was made before');
    const image = await vmImage(cache, unpacked, toolRunner(unpacked));
    note('starting Incus on a host of its own');
    const host = await openEmulatedHost(mkdtempSync(path.join(tmpdir(), 'mr-')), unpacked, image);
    const connect = () =>
      createIncusDriver({
        socketPath: host.socketPath,
        instanceType: 'virtual-machine',
        network: host.network,
        storagePool: host.storagePool,
        sshUser: 'ubuntu',
        portAddresses: { [hostName]: host.address },
        clock: systemClock,
        log: testLog('incus-vm'),
      });
    const [driver, other] = [connect(), connect()];
    try {
      const lifecycle = new VmLifecycle({ driver, other, host, note });
      const figures = await lifecycle.lead();
      return {
        figures: {
          'what ran it': `${host.engine}, emulated: for the flow of the interface only`,
          ...figures,
        },
        failures: lifecycle.failures,
      };
    } finally {
      await Promise.all([driver.close(), other.close()]);
      await host.close();
    }
  });
}
