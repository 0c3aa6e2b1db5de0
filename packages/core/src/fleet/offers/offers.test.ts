import { bareMetalRegions } from '@millrace/contract';
import { testIds } from '@millrace/testing';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countPlaceable,
  parseCudaRequirement,
  isHardwareStale,
  isRentableRegion,
  largestPlaceable,
  offersOf,
  poolsOf,
  nodeLayoutOf,
  shareOfNode,
  type Availability,
  type Hardware,
  type HardwareGroup,
  type PoolKey,
} from './offers.ts';

const clusterId = testIds.next('cls');
const virtual: PoolKey = {
  mode: 'live',
  machineType: 'virtual-machine',
  region: 'us-central-1',
  gpuType: 'h100',
  connectionType: 'ethernet',
};
const metal: PoolKey = { ...virtual, machineType: 'bare-metal', connectionType: 'infiniband' };

function hardwareOf(key: PoolKey, fields: Partial<HardwareGroup> = {}): HardwareGroup {
  return {
    ...key,
    clusterId,
    cpuModel: 'AMD EPYC 9654',
    formFactor: 'sxm5',
    gpusTotal: 8,
    nodes: 4,
    least: { cpuCount: 192, ramMb: 2_097_152, storageGb: 30_000 },
    ...fields,
  };
}

const nothing: Availability = { rooms: [], fabrics: [], selling: new Set([clusterId]) };
const only = (...groups: readonly HardwareGroup[]): Hardware => ({ groups, fabrics: [] });
const sizes = (hardware: Hardware, now: Availability = nothing) =>
  offersOf(poolsOf(hardware, now)).map(({ gpuCount, totalAvailable }) => [gpuCount, totalAvailable]);

describe('shareOfNode', () => {
  const node = fc.record({
    cpuCount: fc.nat(1_024),
    ramMb: fc.nat(8_388_608),
    storageGb: fc.nat(1_000_000),
    gpusTotal: fc.integer({ min: 1, max: 16 }),
  });

  it('returns integers, and all shares together never exceed the node', () => {
    fc.assert(
      fc.property(node, fc.array(fc.integer({ min: 1, max: 16 }), { maxLength: 16 }), (whole, counts) => {
        let left = whole.gpusTotal;
        const machines = counts.filter((count) => (left -= count) >= 0);
        const shares = machines.map((count) => shareOfNode(whole, count));
        const sum = (of: (share: (typeof shares)[number]) => number) =>
          shares.reduce((total, each) => total + of(each), 0);
        expect(sum(({ vcpuCount }) => vcpuCount)).toBeLessThanOrEqual(whole.cpuCount);
        expect(sum(({ ramGb }) => ramGb * 1024)).toBeLessThanOrEqual(whole.ramMb);
        expect(sum(({ storageGb }) => storageGb)).toBeLessThanOrEqual(whole.storageGb);
        expect(shares.every((share) => Object.values(share).every(Number.isSafeInteger))).toBe(true);
      }),
    );
  });

  it('returns the whole node for all GPUs, and zero for a node without GPUs', () => {
    const whole = { cpuCount: 192, ramMb: 2_097_152, storageGb: 30_000, gpusTotal: 8 };
    expect(shareOfNode(whole, 8)).toEqual({ vcpuCount: 192, ramGb: 2048, storageGb: 30_000, gpuCount: 8 });
    expect(shareOfNode(whole, 1)).toEqual({ vcpuCount: 24, ramGb: 256, storageGb: 3750, gpuCount: 1 });
    expect(shareOfNode({ ...whole, gpusTotal: 0 }, 1)).toMatchObject({ vcpuCount: 0, ramGb: 0 });
  });
});

describe('offersOf', () => {
  it('lists every doubling up to the node size, and gangs up to the largest fabric', () => {
    expect(sizes(only(hardwareOf(virtual)))).toEqual([1, 2, 4, 8].map((count) => [count, 0]));
    expect(sizes(only(hardwareOf(virtual, { gpusTotal: 6 })))).toEqual([1, 2, 4].map((count) => [count, 0]));
    const gangs = { groups: [hardwareOf(metal)], fabrics: [{ ...metal, nodes: 40 }] };
    expect(sizes(gangs).map(([count]) => count)).toEqual([8, 16, 24, 32, 40, 48, 56, 64, 128, 256]);
    expect(sizes(only(hardwareOf(metal)))).toEqual([[8, 0]]);
    expect(sizes(only(hardwareOf(metal, { gpusTotal: 4 })))).toEqual([]);
  });

  it('counts virtual machines per node and gangs per fabric', () => {
    const now: Availability = {
      ...nothing,
      rooms: [
        { ...virtual, cuda: 1208, gpusFree: 7, nodes: 2 },
        { ...virtual, cuda: 1209, gpusFree: 3, nodes: 1 },
        { ...metal, cuda: 1208, gpusFree: 8, nodes: 7 },
      ],
      fabrics: [
        { ...metal, idleNodes: 5, leastCuda: 1208, fabrics: 1 },
        { ...metal, idleNodes: 2, leastCuda: 1209, fabrics: 1 },
      ],
    };
    expect(sizes(only(hardwareOf(virtual)), now)).toEqual([
      [1, 17],
      [2, 7],
      [4, 2],
      [8, 0],
    ]);
    const gangs = { groups: [hardwareOf(metal)], fabrics: [{ ...metal, nodes: 6 }] };
    expect(sizes(gangs, now)).toEqual([
      [8, 7],
      [16, 3],
      [24, 1],
      [32, 1],
      [40, 1],
      [48, 0],
    ]);
    const [pool] = poolsOf(gangs, now);
    const two = nodeLayoutOf('bare-metal', 16);
    expect(pool && two && countPlaceable(pool, two, 1209)).toBe(1);
    expect(pool && [largestPlaceable(pool, null), largestPlaceable(pool, 1209)]).toEqual([40, 16]);
    expect(isHardwareStale(gangs, now)).toBe(true);
    expect(isHardwareStale(only(hardwareOf(virtual), hardwareOf(metal)), now)).toBe(false);
  });

  it('guarantees the minimum of a machine of the size and names the most common CPU', () => {
    const [offer] = offersOf(
      poolsOf(
        only(
          hardwareOf(virtual),
          hardwareOf(virtual, {
            nodes: 9,
            cpuModel: 'Intel 8480',
            least: { cpuCount: 224, ramMb: 1_048_576, storageGb: 40_000 },
          }),
        ),
        nothing,
      ),
    );
    expect(offer?.nodes).toEqual([
      { cpuModel: 'Intel 8480', vcpuCount: 24, ramGb: 128, storageGb: 3750, gpuCount: 1 },
    ]);
  });

  it('disables a pool without an open, observed cluster', () => {
    const [pool] = poolsOf(only(hardwareOf(virtual)), { ...nothing, selling: new Set() });
    expect(pool?.enabled).toBe(false);
  });

  it('excludes private regions and the mock region of live providers', () => {
    const hidden = [
      { ...virtual, region: 'private-cloud' },
      { ...virtual, region: 'mock-region' },
      { ...virtual, region: 'uk-central-3' },
      { ...metal, region: 'us-east-1' },
      { ...virtual, mode: 'test' },
    ] as const;
    expect(poolsOf(only(...hidden.map((key) => hardwareOf(key))), nothing)).toEqual([]);
    expect(isRentableRegion({ ...virtual, mode: 'test', region: 'mock-region' })).toBe(true);
    expect(isRentableRegion({ ...metal, mode: 'test', region: 'mock-region' })).toBe(false);
    expect(isRentableRegion({ ...metal, mode: 'live', region: 'mock-region' })).toBe(false);
  });

  it('offers test keys bare metal in every bare-metal region of the API', () => {
    for (const region of bareMetalRegions)
      expect(isRentableRegion({ ...metal, mode: 'test', region })).toBe(true);
    expect(isRentableRegion({ ...metal, mode: 'test', region: 'us-east-1' })).toBe(false);
  });
});

it('nodeLayoutOf returns the layout, or null if no machine has that many GPUs', () => {
  expect(nodeLayoutOf('virtual-machine', 3)).toEqual({ gpusPerNode: 3, nodeCount: 1, whole: false });
  expect(nodeLayoutOf('bare-metal', 32)).toEqual({ gpusPerNode: 8, nodeCount: 4, whole: true });
  expect(nodeLayoutOf('bare-metal', 12)).toBeNull();
  expect([parseCudaRequirement(undefined), parseCudaRequirement('cuda12.8')]).toEqual([null, 1208]);
});
