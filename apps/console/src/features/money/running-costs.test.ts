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

describe('a rental', () => {
  it('costs its rate to the nano while it runs', () => {
    expect(rentalCost(rental)).toMatchObject({
      name: 'trainer',
      to: '/rentals/1042',
      perHour: 2_490_000_001n,
      note: 'Billed by the second.',
    });
  });

  it('costs its rate while it is silent too', () => {
    expect(rentalCost({ ...rental, status: 'Unknown' }).perHour).toBe(2_490_000_001n);
  });

  it('costs its disk alone after a stop that released the GPUs', () => {
    expect(rentalCost({ ...rental, gpuHeld: false })).toMatchObject({ perHour: 12_345_678n });
  });

  it('costs its disk alone while it starts again after such a stop, and nothing before it ran at all', () => {
    const starting = { ...rental, status: 'Pending', gpuHeld: false } as const;
    expect(rentalCost(starting).perHour).toBe(12_345_678n);
    expect(rentalCost({ ...starting, startedAt: null }).perHour).toBe(0n);
  });

  it.each(['Terminating', 'Failed'] as const)('costs nothing while it is %s, and says so', (status) => {
    expect(rentalCost({ ...rental, status })).toMatchObject({
      perHour: 0n,
      note: expect.stringContaining('billed'),
    });
  });

  it('costs nothing while its billing is paused', () => {
    expect(rentalCost({ ...rental, billingPausedAt: '2026-11-16T00:00:00Z' }).perHour).toBe(0n);
  });

  it('without a name goes by its label, or by its number', () => {
    expect(rentalCost({ ...rental, name: null, label: 'l' }).name).toBe('l');
    expect(rentalCost({ ...rental, name: null }).name).toBe('Rental 1042');
  });
});

describe('an instance', () => {
  const price = { amount: 0.1, period: 'hour', agent: 'x' };
  const of = (status: 'creating' | 'online' | 'offline' | 'stopping' | 'failed') => ({
    id: 'a/b',
    instance: { gpu_count: 3, pricing: { price }, status },
  });

  it('costs the price of each of its GPUs while it is there', () => {
    expect(instanceCost(of('online'), 'live')).toMatchObject({
      perHour: 300_000_000n,
      to: '/instances/a%2Fb',
    });
    expect(instanceCost(of('offline'), 'live').perHour).toBe(300_000_000n);
  });

  it.each(['creating', 'stopping', 'failed'] as const)('costs nothing while it is %s', (status) => {
    expect(instanceCost(of(status), 'live')).toMatchObject({ perHour: 0n, note: expect.any(String) });
  });

  it('costs nothing in test mode, whatever its machine is listed at', () => {
    expect(instanceCost(of('online'), 'test').perHour).toBe(0n);
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

it('a volume costs by its size from when it can be used until its data is gone', () => {
  expect(volumeCost(volume)).toMatchObject({ perHour: 20_000_000n, note: null });
  expect(volumeCost({ ...volume, status: 'inactive', startedAt: null }).perHour).toBe(0n);
  const deleted = { ...volume, status: 'inactive', terminatedAt: '2026-11-16T01:00:00Z' } as const;
  expect(volumeCost(deleted)).toMatchObject({ perHour: 20_000_000n, note: expect.stringContaining('kept') });
});

it('a volume that is being restored is billed unless it is new', () => {
  const restoring = { snapshotId: 'snp_1', storageVolumeId: 7, deadline: '2026-11-16T01:00:00Z' };
  const inPlace = { ...volume, status: 'inactive', restoring } as const;
  expect(volumeCost(inPlace)).toMatchObject({
    perHour: 20_000_000n,
    note: 'billed while a snapshot is restored into it',
  });
  expect(volumeCost({ ...inPlace, startedAt: null })).toMatchObject({
    perHour: 0n,
    note: 'not billed before it can be used',
  });
});

it('the dearest comes first', () => {
  const costs = [volumeCost(volume), rentalCost(rental)];
  expect(mostExpensiveFirst(costs).map(({ kind }) => kind)).toEqual(['Rental', 'Volume']);
});
