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
import { toolRunner, unpackPackages } from './builds/build-cache.ts';

/**
 * The Incus driver with a VM that really boots Debian 12 with cloud-init. The processor is emulated in software, so nothing is
 * proven about speed, KVM or GPUs. Optional: takes about ten minutes and downloads 200 MB the first time.
 */
export const proof = defineProof({
  name: 'incus-vm',
  proves:
    'Through the Incus driver a virtual machine (emulated: proves only the sequence of calls) is created once, boots Debian with the keys and user data of its spec, accepts that key and no other, keeps its disk and host key across a stop and a reboot, opens and closes ports, is unreachable after the access cut, and is absent after terminate.',
  short: null,
  long: prove,
});

async function prove({ note }: ProofRun): Promise<ProofReport> {
  requireIncusHost();
  const cache = path.join(defaultCacheDir(), 'incus-vm');
  // The veth pair has a fixed name, so only one host can exist at a time.
  return withLock(path.join(defaultCacheDir(), 'incus-vm.lock'), note, async () => {
    note('downloading packages for the emulator, unless they are cached');
    const unpacked = await unpackPackages(cache, packages);
    note('building the Debian image, unless it is cached');
    const image = await vmImage(cache, unpacked, toolRunner(unpacked));
    note('starting Incus on an emulated host');
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
          engine: `${host.engine}, emulated: proves only the sequence of calls`,
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
