import { readFileSync } from 'node:fs';
import { createIncusDriver } from '@millrace/compute/incus';
import { systemClock } from '@millrace/platform/clock';
import {
  ensureUp,
  killNode,
  startNode,
  type Endpoints,
  type IncusClusterEndpoints,
} from '@millrace/services';
import { testLog } from '@millrace/testing';
import { openCoreStack, type CoreOptions, type CoreStack, type Hosts, type StackDirs } from './core-stack.ts';

/** The product on a private three-member Incus cluster with simulated GPUs, which may be killed. */

export { GPU_TYPE } from './core-stack.ts';
export const REGION = 'eu-west-1';
const MARKET_GPU_HOUR_USD = 2;

type Offer = 'virtual-machine' | 'marketplace';

export interface StackOptions extends CoreOptions {
  /** Default `virtual-machine`. */
  readonly offer?: Offer;
}

export interface RentalStack extends CoreStack {
  /** For direct access to the hosts, without any Millrace process. */
  readonly incus: IncusClusterEndpoints;
}

export async function openRentalStack(options: StackOptions = {}): Promise<RentalStack> {
  const { offer = 'virtual-machine' } = options;
  const { stack, hosts } = await openCoreStack((place) => openIncusHosts(place, offer), options);
  return { ...stack, incus: hosts.incus };
}

interface IncusHosts extends Hosts {
  readonly incus: IncusClusterEndpoints;
}

async function openIncusHosts({ services }: StackDirs, offer: Offer): Promise<IncusHosts> {
  const place = { ...services, topology: 'cluster', databaseInMemory: true } as const;
  const incus = clusterOf(await ensureUp(['incus'], place));
  const engine = createIncusDriver({ ...reachOf(incus), clock: systemClock, log: testLog() });
  return {
    incus,
    engine,
    ...fleetOf(incus, offer),
    gpuCount: 24,
    killableNodes: incus.members.map(({ name }) => name),
    kill: (name) => killNode(name, services),
    start: (name) => startNode(name, services),
    close: () => engine.close(),
  };
}

function clusterOf({ incusCluster }: Endpoints): IncusClusterEndpoints {
  if (incusCluster === undefined) throw new Error('The Incus cluster has no endpoints.');
  return incusCluster;
}

function reachOf(cluster: IncusClusterEndpoints) {
  return {
    endpoints: cluster.members.map(({ url }) => url),
    tls: {
      clientCertificate: readFileSync(cluster.clientCertificateFile, 'utf8'),
      clientKey: readFileSync(cluster.clientKeyFile, 'utf8'),
      serverCertificate: readFileSync(cluster.serverCertificateFile, 'utf8'),
    },
    instanceType: 'container' as const,
    network: cluster.network,
    storagePool: 'default',
    sshUser: 'ubuntu',
  };
}

/** The provider as an operator would configure it. */
function fleetOf(incus: IncusClusterEndpoints, offer: Offer): Pick<Hosts, 'provider' | 'credentials'> {
  const credentials = {
    lab: {
      certificateFile: incus.clientCertificateFile,
      keyFile: incus.clientKeyFile,
      serverCertificateFile: incus.serverCertificateFile,
    },
  };
  const cluster = {
    name: 'lab',
    region: REGION,
    endpoints: incus.members.map(({ url }) => url),
    credential: 'lab',
    offer,
    settings: {
      instanceType: 'container',
      network: incus.network,
      storagePool: 'default',
      defaultImage: incus.sshImageAlias,
      ...(offer === 'marketplace' ? { pricePerGpuHourUsd: MARKET_GPU_HOUR_USD } : {}),
    },
  };
  const regions = [{ region: REGION, customPorts: true }];
  return { provider: { id: 'own', variant: 'V8', regions, clusters: [cluster] }, credentials };
}
