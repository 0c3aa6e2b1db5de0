import type { Offer } from './offers.ts';

export function makeOffer(fields: Partial<Offer> = {}): Offer {
  const { gpuCount = 1 } = fields;
  return {
    gpuType: 'h100',
    gpuCount,
    region: 'us-central-1',
    machineType: 'virtual-machine',
    gpuFormFactor: 'sxm5',
    connectionType: 'ethernet',
    costPerHour: 2.49 * gpuCount,
    costPerHourCents: 249 * gpuCount,
    pricePerHourNanoUsd: String(2_490_000_000n * BigInt(gpuCount)),
    totalAvailable: 4,
    enabled: true,
    nodes: [{ cpuModel: 'EPYC', vcpuCount: 16, ramGb: 128, storageGb: 500, gpuCount }],
    ...fields,
  };
}
