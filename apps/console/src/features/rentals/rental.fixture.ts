import type { Rental } from './rental.ts';

export function makeRental(changes: Partial<Rental> = {}): Rental {
  const rental = {
    id: 1042,
    name: 'train',
    label: null,
    rentalType: 'virtual-machine',
    status: 'Running',
    statusReason: null,
    statusSince: '2026-11-16T10:00:00.000Z',
    createdAt: '2026-11-16T09:59:00.000Z',
    updatedAt: null,
    startedAt: '2026-11-16T10:00:00.000Z',
    terminatedAt: null,
    power: 'on',
    gpuHeld: true,
    releasedCostPerHourNanoUsd: '12000000',
    billingPausedAt: null,
    gpuType: 'h100',
    gpuCount: 2,
    region: 'us-central-1',
    ssh: [],
    ports: [],
    steps: [],
    tags: {},
    expiresAt: null,
    currentTerm: { termType: 'on-demand', costPerHour: 3.980000001 },
  };
  return { ...rental, ...changes } as Rental;
}
