import { ratio } from '@millrace/platform/money';
import { DriverError } from '../driver-error.ts';
import type { InventoryNode, MachineSpec } from '../driver.ts';
import { seededBytes } from './seeded-random.ts';

/** The last one is of a model that rentals do not offer. */
export type MockGpuModel = 'h100' | 'h200' | 'b200' | 'rtx4090';

/** The hardware that the mock pretends to have. */
export interface MockLayout {
  readonly nodes: readonly MockNode[];
  /** Names of images that machines can be made of. */
  readonly images: readonly string[];
}

export interface MockNode {
  readonly name: string;
  /** Where its machines' ports are opened, for real, by the process that serves them. */
  readonly address: string;
  readonly gpuModel: MockGpuModel;
  readonly gpuCount: number;
  readonly cpuCount: number;
  readonly ramMb: number;
  readonly storageGb: number;
  /** GPUs are spread over this many NUMA nodes, in the order of their addresses. */
  readonly numaNodes: number;
  /** The InfiniBand fabric that it is on; null: ethernet. */
  readonly fabric: string | null;
}

const products: Readonly<Record<MockGpuModel, { readonly model: string; readonly ramMb: number }>> = {
  h100: { model: 'NVIDIA H100 80GB HBM3', ramMb: 81_559 },
  h200: { model: 'NVIDIA H200', ramMb: 143_771 },
  b200: { model: 'NVIDIA B200', ramMb: 183_359 },
  rtx4090: { model: 'NVIDIA GeForce RTX 4090', ramMb: 24_564 },
};
const driverVersion = '580.95.05';
const cudaVersion = '13.0';

/**
 * The mock fleet that test keys meet unless an operator says otherwise: 16 nodes of 8 GPUs, eight of H100, four of H200
 * and four of B200. Every second node is on ethernet; the others of each kind are on an InfiniBand fabric of their own.
 * Each node has a loopback address of its own, so that two nodes can have the same port open, as real ones can.
 */
export const defaultLayout: MockLayout = {
  images: ['default', 'ubuntu-24.04', 'ubuntu-22.04', 'debian-12'],
  nodes: Array.from({ length: 16 }, (_, index) => {
    const gpuModel = index < 8 ? 'h100' : index < 12 ? 'h200' : 'b200';
    return {
      name: `mock-${String(index + 1).padStart(2, '0')}`,
      address: `127.0.80.${index + 1}`,
      gpuModel,
      gpuCount: 8,
      cpuCount: 192,
      ramMb: 2_048_000,
      storageGb: 28_000,
      numaNodes: 2,
      fabric: index % 2 === 0 ? null : `mock-${gpuModel}`,
    };
  }),
};

/** The addresses of a node's GPUs: 0000:10:00.0, 0000:18:00.0 and so on, eight buses apart. */
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

/** Refuses a machine that this node cannot be, whoever else is on it. */
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
  if (!fits) throw new DriverError('no_capacity', `The node ${node.name} is smaller than that.`);
}

/** What the engine says of a node that it cannot reach. */
export function unreachableInventoryNode({ name, address }: MockNode): InventoryNode {
  return { name, reachable: false, detail: 'Does not answer.', address, hardware: null };
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}
