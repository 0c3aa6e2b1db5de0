import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createIronicDriver } from '@millrace/compute/ironic';
import { defineProof, type ProofReport, type ProofRun } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { defaultCacheDir, withLock } from '@millrace/services';
import { enrolRedfish, startBareMetalFarm, startIronic, type TestIronic } from '@millrace/testing';
import { hostForMachines, createQemuRuntime, type QemuRuntime } from './ironic-qemu/qemu-runtime.ts';
import { imageName, BareMetalLifecycle } from './ironic-qemu/machine-lifecycle.ts';
import { deployRamdisk, type DeployRamdisk } from './ironic-qemu/ramdisk.ts';
import { tenantImage, type TenantImage } from './ironic-qemu/tenant-image.ts';
import { requireIronicHost, packages } from './ironic-qemu/host-packages.ts';
import { toolRunner, unpackPackages } from './builds/build-cache.ts';

/**
 * The Ironic driver with a machine that really boots: the agent's ramdisk from Ironic's CD, then the deployed disk. The processor
 * and the BMC are emulated, so nothing is proven about speed, firmware or GPUs. Optional: takes about 15 minutes and downloads
 * 200 MB the first time.
 */
export const proof = defineProof({
  name: 'ironic-qemu',
  proves:
    "Through the Ironic driver, Ironic's agent writes a tenant's image to a machine (QEMU in software with an emulated BMC: proves only the sequence of calls). The machine boots from its disk, accepts the key of its config drive and no other, and is unreachable after the access cut. After terminate every byte of its disk is zero and the node is available.",
  short: null,
  long: prove,
});

async function prove({ note }: ProofRun): Promise<ProofReport> {
  requireIronicHost();
  const cache = path.join(defaultCacheDir(), 'ironic-qemu');
  return withLock(path.join(defaultCacheDir(), 'ironic-qemu.lock'), note, async () => {
    note('downloading packages for the emulator, unless they are cached');
    const unpacked = await unpackPackages(cache, packages);
    const tool = toolRunner(unpacked);
    note('building the ramdisk of the agent, unless it is cached');
    const ramdisk = await deployRamdisk(cache, tool);
    note("building the tenant's image, unless it is cached");
    const image = await tenantImage(cache, ramdisk, tool);
    const folder = mkdtempSync(path.join(tmpdir(), 'mr-metal-'));
    try {
      return await proveIn(folder, { unpacked, ramdisk, image, note });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

interface BuildResult {
  readonly unpacked: string;
  readonly ramdisk: DeployRamdisk;
  readonly image: TenantImage;
  readonly note: (line: string) => void;
}

async function proveIn(folder: string, made: BuildResult): Promise<ProofReport> {
  const { note, image } = made;
  note('starting Ironic, and a BMC with an emulated machine behind it');
  await using ironic = await startEngine(folder, made.ramdisk);
  const body = createQemuRuntime(folder, made.unpacked);
  await using farm = await startBareMetalFarm({ count: 1, body: body.boot });
  const [machine] = farm.machines;
  if (machine === undefined) throw new Error('The farm has no machine.');
  const nodeUuid = await enrolRedfish(ironic, machine, {
    // The disk is new. Cleaning is checked after terminate.
    isCleaned: false,
    kernelWords: `console=ttyS0 mitigations=off ipa-advertise-host=${machine.address}`,
  });
  const url = await ironic.publish('tenant.qcow2', readFileSync(image.file));
  const connect = () =>
    createIronicDriver({
      endpoint: ironic.url,
      credential: { username: ironic.username, password: ironic.password, serverCertificate: null },
      clock: systemClock,
      images: {
        [imageName]: {
          url,
          hash: { algorithm: 'sha256', value: image.sha256 },
          diskFormat: 'qcow2',
          sshUser: 'root',
        },
      },
    });
  const [driver, other] = [connect(), connect()];
  try {
    const lifecycle = new BareMetalLifecycle({ driver, other, ironic, machine, nodeUuid, body, note });
    const figures = await lifecycle.lead().catch((error: unknown) => {
      logTails(ironic, body, note);
      throw error;
    });
    const { engine: version } = await driver.readInventory(AbortSignal.timeout(60_000));
    return {
      figures: {
        engine: `${version}, QEMU in software with an emulated BMC: proves only the sequence of calls`,
        ...figures,
      },
      failures: lifecycle.failures,
    };
  } finally {
    await Promise.all([driver.close(), other.close()]);
  }
}

/** As the services tool configures Ironic, except for the addresses and full erasure of disks, which is quick on this small disk. */
function startEngine(folder: string, { kernelFile, ramdiskFile }: DeployRamdisk): Promise<TestIronic> {
  return startIronic({
    hostForMachines,
    conf: {
      conductor: {
        deploy_kernel: `file://${kernelFile}`,
        deploy_ramdisk: `file://${ramdiskFile}`,
        file_url_allowed_paths: path.dirname(kernelFile),
        deploy_callback_timeout: 1_500,
        clean_callback_timeout: 1_500,
      },
      deploy: {
        erase_devices_priority: 20,
        shred_random_overwrite_iterations: 0,
        shred_final_overwrite_with_zeros: true,
      },
      agent: {
        // The machine cannot reach the image server, so Ironic passes images on.
        image_download_source: 'local',
        certificates_path: path.join(folder, 'certificates'),
        command_timeout: 180,
      },
    },
  });
}

/** Logs the last output of the machine and Ironic before both are removed. */
function logTails(ironic: TestIronic, body: QemuRuntime, note: BuildResult['note']): void {
  const last = (text: string): string => text.slice(-6_000);
  note(`output of the machine:\n${last(body.console())}`);
  note(`output of Ironic:\n${last(ironic.process().output())}`);
}
