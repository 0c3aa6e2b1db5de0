import { ratio } from '@millrace/platform/money';
import { DriverError } from '../driver-error.ts';
import type { InventoryNode, MachineSpec } from '../driver.ts';
import { seededBytes } from './seeded-random.ts';

/** Rentals offer the first three; the others are for the marketplace. */
export const mockGpuModels = ['h100', 'h200', 'b200', 'a100', 'l40s', 'rtx5090', 'rtx4090'] as const;
export type MockGpuModel = (typeof mockGpuModels)[number];

/** The simulated hardware. */
export interface MockLayout {
  readonly nodes: readonly MockNode[];
  readonly images: readonly string[];
  /** Names of nodes that never respond. Default: none. */
  readonly silentNodes?: readonly string[];
  /** Replaces the name of the cluster in the seed. */
  readonly seed?: string;
}

export interface MockNode {
  readonly name: string;
  /** Address on which the serving process opens the ports of its machines. */
  readonly address: string;
  readonly gpuModel: MockGpuModel;
  readonly gpuCount: number;
  readonly cpuCount: number;
  readonly ramMb: number;
  readonly storageGb: number;
  /** GPUs are spread over this many NUMA nodes in the order of their addresses. */
  readonly numaNodes: number;
  /** Its InfiniBand fabric; null for Ethernet. */
  readonly fabric: string | null;
}

const products: Readonly<Record<MockGpuModel, { readonly model: string; readonly ramMb: number }>> = {
  h100: { model: 'NVIDIA H100 80GB HBM3', ramMb: 81_559 },
  h200: { model: 'NVIDIA H200', ramMb: 143_771 },
  b200: { model: 'NVIDIA B200', ramMb: 183_359 },
  a100: { model: 'NVIDIA A100-SXM4-80GB', ramMb: 81_920 },
  l40s: { model: 'NVIDIA L40S', ramMb: 46_068 },
  rtx5090: { model: 'NVIDIA GeForce RTX 5090', ramMb: 32_607 },
  rtx4090: { model: 'NVIDIA GeForce RTX 4090', ramMb: 24_564 },
};
const driverVersion = '580.95.05';
const cudaVersion = '13.0';

/**
 * The default fleet for test keys: 16 nodes with 8 GPUs, eight of H100, four of H200 and four of B200. Every second node has
 * Ethernet; the others of each model share an InfiniBand fabric. Each node has its own loopback address, so two nodes can open
 * the same port.
 */
export const defaultLayout: MockLayout = {
  images: ['default', 'ubuntu-24.04', 'ubuntu-22.04', 'debian-12'],
  nodes: Array.from({ length: 16 }, (_, index) => {
    const gpuModel = index < 8 ? 'h100' : index < 12 ? 'h200' : 'b200';
    return {
      name: `mock-${String(index + 1).padStart(2, '0')}`,
      address: `127.0.80.${index + 1}`,
      gpuModel,
      ...nodeOfSize(8),
      fabric: index % 2 === 0 ? null : `mock-${gpuModel}`,
    };
  }),
};

/** CPUs, memory and disk grow with the number of GPUs. */
export function nodeOfSize(
  gpuCount: number,
): Pick<MockNode, 'gpuCount' | 'cpuCount' | 'ramMb' | 'storageGb' | 'numaNodes'> {
  return {
    gpuCount,
    cpuCount: gpuCount * 24,
    ramMb: gpuCount * 256_000,
    storageGb: gpuCount * 3_500,
    numaNodes: Math.min(gpuCount, 2),
  };
}

/** GPU addresses 0000:10:00.0, 0000:18:00.0 and so on, eight buses apart. */
export function gpuAddressesOf(node: MockNode): string[] {
  return Array.from({ length: node.gpuCount }, (_, index) => {
    const bus = 0x10 + 8 * index;
    const domain = bus >> 8;
    return `${hex(domain, 4)}:${hex(bus & 0xff, 2)}:00.0`;
  });
}

export function gpuUuidOf(seed: string, nodeName: string, pciAddress: string): string {
  const text = seededBytes(seed, 'gpu', nodeName, pciAddress).toString('hex');
  const groups = /^(.{8})(.{4})(.{4})(.{4})(.{12})/.exec(text)?.slice(1) ?? [];
  return `GPU-${groups.join('-')}`;
}

export function gpuNameOf(node: MockNode): string {
  return products[node.gpuModel].model;
}

export function inventoryNodeOf(node: MockNode, seed: string): InventoryNode {
  const { model, ramMb } = products[node.gpuModel];
  return {
    name: node.name,
    reachable: true,
    detail: null,
    address: node.address,
    hardware: {
      cpuModel: 'Mock CPU 9654',
      cpuCount: node.cpuCount,
      ramMb: node.ramMb,
      storageGb: node.storageGb,
      fabric: node.fabric,
      connectionType: node.fabric === null ? 'ethernet' : 'infiniband',
      gpus: gpuAddressesOf(node).map((pciAddress, index) => ({
        pciAddress,
        uuid: gpuUuidOf(seed, node.name, pciAddress),
        model,
        ramMb,
        numaNode: Math.floor(ratio(index * node.numaNodes, node.gpuCount)),
        driverVersion,
        cudaVersion,
      })),
    },
  };
}

/** Refuses a spec that exceeds the node, regardless of other machines on it. */
export function requireHardware(node: MockNode, images: readonly string[], spec: MachineSpec): void {
  if (!images.includes(spec.image)) {
    throw new DriverError('not_found', `The cluster has no image ${spec.image}.`);
  }
  const gpus = gpuAddressesOf(node);
  const missing = spec.gpuPciAddresses.find((address) => !gpus.includes(address));
  if (missing !== undefined) {
    throw new DriverError('no_capacity', `The node ${node.name} has no GPU at ${missing}.`);
  }
  const fits = spec.cpuCount <= node.cpuCount && spec.ramMb <= node.ramMb && spec.diskGb <= node.storageGb;
  if (!fits)
    throw new DriverError(
      'no_capacity',
      `The node ${node.name} has too few CPUs, or too little memory or disk.`,
    );
}

export function unreachableInventoryNode({ name, address }: MockNode): InventoryNode {
  return { name, reachable: false, detail: 'The node does not respond.', address, hardware: null };
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}
