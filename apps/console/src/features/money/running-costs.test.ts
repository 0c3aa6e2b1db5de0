import { describe, expect, it } from 'vitest';
import { dearestFirst, instanceCost, rentalCost, volumeCost } from './running-costs.ts';

const rental = {
  id: 1042,
  name: 'trainer',
  label: null,
  status: 'Running',
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
      note: null,
    });
  });

  it('costs its rate while it is silent too', () => {
    expect(rentalCost({ ...rental, status: 'Unknown' }).perHour).toBe(2_490_000_001n);
  });

  it('costs its disk alone after a stop that released the GPUs', () => {
    expect(rentalCost({ ...rental, gpuHeld: false })).toMatchObject({ perHour: 12_345_678n });
  });

  it.each(['Pending', 'Terminating', 'Failed'] as const)(
    'costs nothing while it is %s, and says so',
    (status) => {
      expect(rentalCost({ ...rental, status })).toMatchObject({
        perHour: 0n,
        note: expect.stringContaining('billed'),
      });
    },
  );

  it('costs nothing while its billing is paused', () => {
    expect(rentalCost({ ...rental, billingPausedAt: '2026-11-16T00:00:00Z' }).perHour).toBe(0n);
  });

  it('without a name goes by its label, or by its number', () => {
    expect(rentalCost({ ...rental, name: null, label: 'l' }).name).toBe('l');
    expect(rentalCost({ ...rental, name: null }).name).toBe('Rental 1042');
  });
});

it('an instance costs the price of each of its GPUs, once it runs', () => {
  const price = { amount: 0.1, period: 'hour', agent: 'x' };
  const instance = {
    id: 'a/b',
    start: '2026-11-16T00:00:00Z',
    instance: { gpu_count: 3, pricing: { price } },
  };
  expect(instanceCost(instance)).toMatchObject({ perHour: 300_000_000n, to: '/instances/a%2Fb' });
  expect(instanceCost({ ...instance, start: null }).perHour).toBe(0n);
});

it('the dearest comes first', () => {
  const volume = volumeCost({ id: 7, label: 'data', status: 'active', costPerHour: 0.02 });
  expect(dearestFirst([volume, rentalCost(rental)]).map(({ kind }) => kind)).toEqual(['Rental', 'Volume']);
  expect(volume.perHour).toBe(20_000_000n);
});
