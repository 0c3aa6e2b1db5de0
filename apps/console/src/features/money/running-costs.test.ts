import { describe, expect, it } from 'vitest';
import { mostExpensiveFirst, instanceCost, rentalCost, volumeCost } from './running-costs.ts';

const rental = {
  id: 1042,
  name: 'trainer',
  label: null,
  status: 'Running',
  power: 'on',
  startedAt: '2026-11-16T00:00:00Z',
  gpuHeld: true,
  billingPausedAt: null,
  releasedCostPerHourNanoUsd: '12345678',
  currentTerm: { termType: 'on-demand', costPerHour: 2.490000001 },
} as const;

describe('rentalCost', () => {
  it('returns the exact rate while the rental runs', () => {
    expect(rentalCost(rental)).toMatchObject({
      name: 'trainer',
      to: '/rentals/1042',
      perHour: 2_490_000_001n,
      note: 'Billed by the second.',
    });
  });

  it('returns the cost of live mode while the full price applies', () => {
    const free = { ...rental, liveCostPerHourNanoUsd: '2000000000' };
    expect(rentalCost(free).livePerHour).toBe(2_000_000_000n);
    expect(rentalCost({ ...free, gpuHeld: false })).toMatchObject({
      livePerHour: null,
      whileRunning: { nano: 2_000_000_000n, isLive: true },
    });
    expect(rentalCost({ ...free, status: 'Failed' }).livePerHour).toBeNull();
    expect(rentalCost(rental).livePerHour).toBeNull();
  });

  it('returns the rate while the status is Unknown', () => {
    expect(rentalCost({ ...rental, status: 'Unknown' }).perHour).toBe(2_490_000_001n);
  });

  it('returns the disk price after a stop that released the GPUs', () => {
    expect(rentalCost({ ...rental, gpuHeld: false })).toMatchObject({ perHour: 12_345_678n });
  });

  it('returns the disk price while the rental restarts after such a stop, and zero before its first start', () => {
    const starting = { ...rental, status: 'Pending', gpuHeld: false } as const;
    expect(rentalCost(starting).perHour).toBe(12_345_678n);
    expect(rentalCost({ ...starting, startedAt: null }).perHour).toBe(0n);
  });

  it.each(['Terminating', 'Failed'] as const)('returns zero and a note while the rental is %s', (status) => {
    expect(rentalCost({ ...rental, status })).toMatchObject({
      perHour: 0n,
      note: expect.stringContaining('billed'),
    });
  });

  it('returns zero while billing is paused', () => {
    expect(rentalCost({ ...rental, billingPausedAt: '2026-11-16T00:00:00Z' }).perHour).toBe(0n);
  });

  it('falls back to the label or the number as name', () => {
    expect(rentalCost({ ...rental, name: null, label: 'l' }).name).toBe('l');
    expect(rentalCost({ ...rental, name: null }).name).toBe('Rental 1042');
  });
});

describe('instanceCost', () => {
  const price = { amount: 0.1, period: 'hour', agent: 'x' };
  const of = (status: 'creating' | 'online' | 'offline' | 'stopping' | 'failed') => ({
    id: 'a/b',
    instance: { gpu_count: 3, pricing: { price }, status },
  });

  it('returns the price of its GPUs while the instance exists', () => {
    expect(instanceCost(of('online'), 'live')).toMatchObject({
      perHour: 300_000_000n,
      to: '/instances/a%2Fb',
    });
    expect(instanceCost(of('offline'), 'live').perHour).toBe(300_000_000n);
  });

  it.each(['creating', 'stopping', 'failed'] as const)('returns zero while the instance is %s', (status) => {
    expect(instanceCost(of(status), 'live')).toMatchObject({ perHour: 0n, note: expect.any(String) });
  });

  it('returns zero in test mode, with the cost of live mode', () => {
    expect(instanceCost(of('online'), 'test')).toMatchObject({ perHour: 0n, livePerHour: 300_000_000n });
    expect(instanceCost(of('creating'), 'test').livePerHour).toBeNull();
    expect(instanceCost(of('online'), 'live').livePerHour).toBeNull();
  });
});

const volume = {
  id: 7,
  label: 'data',
  status: 'active',
  costPerHour: 0.02,
  startedAt: '2026-11-16T00:00:00Z',
  terminatedAt: null,
} as const;

it('volumeCost bills by size from first use until the data is deleted', () => {
  expect(volumeCost(volume)).toMatchObject({ perHour: 20_000_000n, note: null });
  expect(volumeCost({ ...volume, status: 'inactive', startedAt: null }).perHour).toBe(0n);
  const deleted = { ...volume, status: 'inactive', terminatedAt: '2026-11-16T01:00:00Z' } as const;
  expect(volumeCost(deleted)).toMatchObject({
    perHour: 20_000_000n,
    note: expect.stringContaining('retention'),
  });
});

it('volumeCost has the live price of a volume of test mode as soon as it would be billed', () => {
  const free = { ...volume, costPerHour: 0, liveCostPerHourNanoUsd: '30' };
  expect(volumeCost(free)).toMatchObject({ perHour: 0n, livePerHour: 30n });
  expect(volumeCost({ ...free, status: 'inactive', startedAt: null }).livePerHour).toBeNull();
  expect(volumeCost(volume).livePerHour).toBeNull();
});

it('volumeCost bills a volume during a restore, unless the volume is new', () => {
  const restoring = { snapshotId: 'snp_1', storageVolumeId: 7, deadline: '2026-11-16T01:00:00Z' };
  const inPlace = { ...volume, status: 'inactive', restoring } as const;
  expect(volumeCost(inPlace)).toMatchObject({
    perHour: 20_000_000n,
    note: 'billed while a snapshot is restored',
  });
  expect(volumeCost({ ...inPlace, startedAt: null })).toMatchObject({
    perHour: 0n,
    note: 'not billed until ready',
  });
});

it('mostExpensiveFirst sorts by cost, descending', () => {
  const costs = [volumeCost(volume), rentalCost(rental)];
  expect(mostExpensiveFirst(costs).map(({ kind }) => kind)).toEqual(['Rental', 'Volume']);
});
