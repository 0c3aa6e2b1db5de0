import { describe, expect, it } from 'vitest';
import { makeOffer } from './offers.fixture.ts';
import {
  ageSeconds,
  filterChoices,
  summariseCatalog,
  groupOffers,
  hardwareText,
  filterOffers,
  perGpuNano,
} from './offers.ts';

const one = makeOffer();
const two = makeOffer({ gpuCount: 2, totalAvailable: 2 });
const soldOut = makeOffer({ region: 'eu-west-1', totalAvailable: 0 });
const closed = makeOffer({ region: 'ca-east-1', enabled: false, totalAvailable: 3 });
const expensive = makeOffer({ region: 'us-east-1', pricePerHourNanoUsd: '3000000001', totalAvailable: 9 });
const metal = makeOffer({
  machineType: 'bare-metal',
  gpuCount: 16,
  connectionType: 'infiniband',
  totalAvailable: 1,
  pricePerHourNanoUsd: '32000000016',
});
const all = [soldOut, two, closed, metal, expensive, one];

describe('offers', () => {
  it('are priced per GPU, exact to the nano-USD', () => {
    expect(perGpuNano(two)).toBe(2_490_000_000n);
    expect(perGpuNano(metal)).toBe(2_000_000_001n);
    expect(perGpuNano(makeOffer({ gpuCount: 8, pricePerHourNanoUsd: '0' }))).toBe(0n);
  });

  it('of test mode have the lowest price of live mode, or none', () => {
    const free = { pricePerHourNanoUsd: '0' };
    const offers = [
      makeOffer({ ...free, livePricePerHourNanoUsd: '3000000000' }),
      makeOffer({ ...free, region: 'eu-west-1', gpuCount: 2, livePricePerHourNanoUsd: '4000000000' }),
    ];
    const [family] = groupOffers(offers, 'region');
    expect(family?.lowestLivePerGpuNano).toBe(2_000_000_000n);
    expect(family?.spots.map(({ livePerGpuNano }) => livePerGpuNano)).toEqual([
      2_000_000_000n,
      3_000_000_000n,
    ]);
    expect(groupOffers([one], 'price')[0]?.lowestLivePerGpuNano).toBeNull();
  });

  it('are grouped by GPU and machine type, then by location, smallest size first', () => {
    const families = groupOffers(all, 'price');
    expect(families.map(({ id, gpusFree, regionCount }) => ({ id, gpusFree, regionCount }))).toEqual([
      { id: 'h100 bare-metal', gpusFree: 16, regionCount: 1 },
      { id: 'h100 virtual-machine', gpusFree: 13, regionCount: 4 },
    ]);
    const [, machines] = families;
    expect(machines?.spots[0]?.sizes).toEqual([one, two]);
    // Both sizes share the same four GPUs.
    expect(machines?.spots[0]?.gpusFree).toBe(4);
    expect(machines?.lowestPerGpuNano).toBe(2_490_000_000n);
  });

  it('list available offers first and keep sold-out ones', () => {
    const places = (sort: 'price' | 'free' | 'region') =>
      groupOffers(all, sort)
        .find(({ machineType }) => machineType === 'virtual-machine')
        ?.spots.map(({ region }) => region);
    expect(places('price')).toEqual(['us-central-1', 'us-east-1', 'ca-east-1', 'eu-west-1']);
    expect(places('free')).toEqual(['us-east-1', 'us-central-1', 'ca-east-1', 'eu-west-1']);
    expect(places('region')).toEqual(['ca-east-1', 'eu-west-1', 'us-central-1', 'us-east-1']);
  });

  it('match each filter alone and all filters together', () => {
    expect(filterOffers(all, {})).toEqual(all);
    expect(filterOffers(all, { available: true })).toEqual([two, metal, expensive, one]);
    expect(filterOffers(all, { count: 2 })).toEqual([two]);
    expect(filterOffers(all, { type: 'bare-metal' })).toEqual([metal]);
    expect(filterOffers(all, { region: 'us-east-1', gpu: 'h100', count: 1, available: true })).toEqual([
      expensive,
    ]);
    expect(filterOffers(all, { gpu: 'b200' })).toEqual([]);
  });

  it('provide the filter values', () => {
    expect(filterChoices(all)).toEqual({
      gpus: ['h100'],
      regions: ['ca-east-1', 'eu-west-1', 'us-central-1', 'us-east-1'],
      counts: [1, 2, 16],
    });
  });

  it('are summarised without closed or sold-out ones', () => {
    expect(summariseCatalog(all)).toEqual({
      lowestPerGpuNano: 2_000_000_001n,
      gpusFree: 29,
      regionsWithRoom: 2,
    });
    expect(summariseCatalog([soldOut])).toEqual({
      lowestPerGpuNano: 2_490_000_000n,
      gpusFree: 0,
      regionsWithRoom: 0,
    });
    expect(summariseCatalog([])).toEqual({ lowestPerGpuNano: null, gpusFree: 0, regionsWithRoom: 0 });
  });

  it('show the hardware of each node', () => {
    expect(hardwareText(one)).toBe('16 vCPU · 128 GB RAM · 500 GB disk');
    const large = one.nodes.map((node) => ({ ...node, storageGb: 3_500 }));
    expect(hardwareText({ nodes: large })).toBe('16 vCPU · 128 GB RAM · 3.5 TB disk');
    expect(hardwareText({ nodes: large.map((node) => ({ ...node, storageGb: 28_000 })) })).toContain('28 TB');
    expect(hardwareText({ nodes: [...one.nodes, ...one.nodes] })).toBe(
      '2 nodes, each 16 vCPU · 128 GB RAM · 500 GB disk',
    );
    expect(hardwareText({ nodes: [] })).toBe('');
  });
});

describe('ageSeconds', () => {
  it('returns whole seconds, never negative', () => {
    expect(ageSeconds(1_000, 5_900)).toBe(4);
    expect(ageSeconds(5_000, 1_000)).toBe(0);
  });
});
