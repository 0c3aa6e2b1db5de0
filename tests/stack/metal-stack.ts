import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { createIronicDriver } from '@millrace/compute/ironic';
import { systemClock } from '@millrace/platform/clock';
import {
  enrolRedfish,
  startBareMetalFarm,
  startIronic,
  type BareMetalFarm,
  type TestIronic,
} from '@millrace/testing';
import { openCoreStack, type CoreOptions, type CoreStack, type Hosts, type StackDirs } from './core-stack.ts';
import { insertPrice } from './tenant.ts';

/**
 * The product on bare metal: a private Ironic with its Redfish driver, which may be killed. The machines' BMC, deploy agent and
 * system are emulated in this process and keep running when other processes are killed.
 */

export const METAL_REGION = 'eu-west-3';
export const NODE_GPUS = 8;
const IMAGE = 'ubuntu-24.04';
const FABRIC = 'ib-1';

/** Seconds instead of the half hour of production. */
const engineLimits = {
  conductor: {
    check_provision_state_interval: 1,
    deploy_callback_timeout: 20,
    clean_callback_timeout: 20,
    power_state_change_timeout: 10,
  },
  agent: { post_deploy_get_power_state_retry_interval: 1 },
  redfish: { connection_attempts: 1 },
};

export interface MetalStack extends CoreStack {
  readonly ironic: TestIronic;
  readonly farm: BareMetalFarm;
}

/** Opens a stack with this number of 8-GPU nodes on one fabric, and inserts their price. */
export async function openMetalStack(nodes: number, options: CoreOptions = {}): Promise<MetalStack> {
  const { stack, hosts } = await openCoreStack((place) => openMetal(place, nodes), options);
  await insertPrice(stack, 'bare-metal');
  return { ...stack, ironic: hosts.ironic, farm: hosts.farm };
}

interface Metal extends Hosts {
  readonly ironic: TestIronic;
  readonly farm: BareMetalFarm;
}

async function openMetal({ folder }: StackDirs, count: number): Promise<Metal> {
  const farm = await startBareMetalFarm({ count });
  const ironic = await startIronic({ conf: engineLimits });
  const close = async (): Promise<void> => {
    await farm[Symbol.asyncDispose]();
    await ironic[Symbol.asyncDispose]();
  };
  try {
    const words = { isCleaned: false, fabric: FABRIC };
    await Promise.all(farm.machines.map((machine) => enrolRedfish(ironic, machine, words)));
    const image = await publishImage(ironic);
    const { url: endpoint, username, password } = ironic;
    const engine = createIronicDriver({
      endpoint,
      credential: { username, password, serverCertificate: null },
      clock: systemClock,
      images: {},
    });
    return {
      ...{ ironic, farm, engine },
      ...fleetOf(ironic, image, folder),
      gpuCount: count * NODE_GPUS,
      killableNodes: ['ironic'],
      kill: () => ironic.crash(),
      start: () => ironic.start(),
      close: async () => {
        await engine.close();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface PublishedImage {
  readonly url: string;
  readonly sha256: string;
}

async function publishImage(ironic: TestIronic): Promise<PublishedImage> {
  const content = Buffer.from('No machine boots this image: machines are emulated.');
  const url = await ironic.publish('image.raw', content);
  return { url, sha256: createHash('sha256').update(content).digest('hex') };
}

/** The provider as an operator would configure it. */
function fleetOf(
  { url: endpoint, username, password }: TestIronic,
  image: PublishedImage,
  folder: string,
): Pick<Hosts, 'provider' | 'credentials'> {
  const passwordFile = path.join(folder, 'ironic-password');
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  const cluster = {
    name: 'metal',
    region: METAL_REGION,
    endpoint,
    credential: 'metal',
    offer: 'bare-metal',
    settings: { images: { [IMAGE]: { ...image, diskFormat: 'raw' } }, defaultImage: IMAGE, pollMs: 200 },
  };
  const regions = [{ region: METAL_REGION }];
  return {
    provider: { id: 'own', variant: 'V2', driver: 'ironic', regions, clusters: [cluster] },
    credentials: { metal: { username, passwordFile } },
  };
}
