import type { InventoryGpu, InventoryNode } from '@millrace/compute';

/** Inventories of engines for tests. */

export function gpu(index: number, fields: Partial<InventoryGpu> = {}): InventoryGpu {
  return {
    pciAddress: `0000:${(0x10 + index).toString(16)}:00.0`,
    uuid: null,
    model: 'NVIDIA H100 80GB HBM3',
    ramMb: null,
    numaNode: index < 4 ? 0 : 1,
    driverVersion: '580.95.05',
    cudaVersion: '13.0',
    ...fields,
  };
}

export function node(
  name: string,
  gpus: readonly InventoryGpu[] = Array.from({ length: 8 }, (_, index) => gpu(index)),
  fields: Partial<InventoryNode> = {},
): InventoryNode {
  return {
    name,
    reachable: true,
    detail: null,
    address: '127.0.0.1',
    hardware: {
      cpuModel: 'AMD EPYC 9654',
      cpuCount: 192,
      ramMb: 2_000_000,
      storageGb: 10_000,
      gpus,
      fabric: null,
      connectionType: null,
    },
    ...fields,
  };
}

export function unreachable(name: string): InventoryNode {
  return { name, reachable: false, detail: 'offline', address: null, hardware: null };
}
