import type { FleetCluster } from './fleet/fleet-layout.ts';
import type { FleetNode } from './common/fleet-nodes.ts';

const at = '2026-08-01T12:00:00.000Z';
let made = 0;

export function makeCluster({
  name = 'north',
  region = 'eu-north-2',
}: { readonly name?: string; readonly region?: string } = {}): FleetCluster {
  return {
    id: `cls_${name}`,
    name,
    providerId: 'main',
    region,
    driver: 'mock',
    endpoint: 'mock:',
    credentialRef: null,
    settings: {},
    offer: 'virtual-machine',
    connectionType: 'ethernet',
    origin: 'configuration',
    status: 'connected',
    statusReason: null,
    statusSince: at,
    engine: 'mock 1',
    lastSeenAt: at,
    nodeCount: 0,
    createdAt: at,
  };
}

export function makeNode({
  name,
  cluster = makeCluster(),
  status = 'node_ready',
  gpus = 8,
  sold = 0,
}: {
  readonly name?: string;
  readonly cluster?: FleetCluster;
  readonly status?: FleetNode['status'];
  readonly gpus?: number;
  readonly sold?: number;
} = {}): FleetNode {
  made += 1;
  return {
    id: `nod_${String(made)}`,
    name: name ?? `node-${String(made)}`,
    clusterId: cluster.id,
    clusterName: cluster.name,
    providerId: cluster.providerId,
    region: cluster.region,
    supplierId: null,
    status,
    statusReason: null,
    statusSince: at,
    drainDeadlineAt: null,
    address: null,
    hardwareReadAt: at,
    cpuModel: 'Test CPU',
    cpuCount: 64,
    ramGb: 512,
    storageGb: 4_000,
    driverVersion: null,
    cudaVersion: null,
    gpus: Array.from({ length: gpus }, (_, index) => ({
      id: `gpu_${String(made)}_${String(index)}`,
      model: 'NVIDIA H100 80GB HBM3',
      gpuType: 'h100',
      ramMb: 81_920,
      pciAddress: `0000:${String(index)}0:00.0`,
      numaNode: null,
      allocatedTo: index < sold ? String(1_000 + index) : null,
      deviceUuid: null,
      state: 'present' as const,
      stateReason: null,
      verification: 'unverified' as const,
    })),
    liveRentalCount: sold,
    lastSeenAt: at,
  };
}

const states = ['node_ready', 'node_ready', 'node_ready', 'node_draining', 'node_offline'] as const;

export function makeFleet(count: number): readonly FleetNode[] {
  const clusters = ['eu-north-2', 'us-east-1', 'ca-west-1'].map((region) =>
    makeCluster({ name: region, region }),
  );
  return Array.from({ length: count }, (_, index) => {
    const cluster = clusters[index % clusters.length] ?? makeCluster();
    return makeNode({
      name: `node-${String(index)}`,
      cluster,
      status: states[index % states.length] ?? 'node_ready',
      sold: index % 9,
    });
  });
}
