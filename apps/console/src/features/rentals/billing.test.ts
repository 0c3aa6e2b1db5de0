import { describe, expect, it } from 'vitest';
import { rentalBilling } from './billing.ts';
import { makeRental } from './rental.fixture.ts';

const full = 3_980_000_001n;

describe('billing', () => {
  it.each([
    ['starting for the first time', { status: 'Pending', startedAt: null }, 0n, /^Not billed/],
    ['running', {}, full, /by the second/],
    ['off with GPUs held', { power: 'off' }, full, /in full/],
    ['off with GPUs released', { power: 'off', gpuHeld: false }, 12_000_000n, /Only the disk/],
    [
      'restarting after a release',
      { status: 'Pending', gpuHeld: false },
      12_000_000n,
      /until the machine runs/,
    ],
    ['unreachable', { status: 'Unknown' }, full, /pauses after 5 minutes/],
    [
      'unreachable for long',
      { status: 'Unknown', billingPausedAt: '2026-11-16T10:05:00.000Z' },
      0n,
      /^Not billed/,
    ],
    ['failed', { status: 'Failed' }, 0n, /^Not billed/],
    ['terminating', { status: 'Terminating' }, 0n, /when the termination was accepted/],
    ['ended', { status: 'Terminated' }, 0n, /^Not billed/],
  ] as const)('%s', (_, changes, perHour, words) => {
    const billing = rentalBilling(makeRental(changes));
    expect(billing.perHour).toBe(perHour);
    expect(billing.words).toMatch(words);
    expect(billing.isPrepaid).toBeUndefined();
  });

  it('has the live price of the disk after a release in test mode', () => {
    const free = { liveCostPerHourNanoUsd: '7', liveReleasedCostPerHourNanoUsd: '3' };
    expect(rentalBilling(makeRental(free)).livePerHour).toBe(7n);
    expect(rentalBilling(makeRental({ ...free, gpuHeld: false })).livePerHour).toBe(3n);
    expect(rentalBilling(makeRental({ gpuHeld: false })).livePerHour).toBeNull();
  });

  const price = { livePerHour: 2_000_000_000n, whileRunning: null };
  const onlyWhenRunning = { livePerHour: null, whileRunning: { nano: 2_000_000_000n, isLive: true } };
  it.each([
    ['running', {}, price],
    ['off with GPUs held', { power: 'off' }, price],
    [
      'off with GPUs released',
      { power: 'off', gpuHeld: false, liveReleasedCostPerHourNanoUsd: '3' },
      { ...onlyWhenRunning, livePerHour: 3n },
    ],
    ['off with GPUs released, if the disk has no price', { power: 'off', gpuHeld: false }, onlyWhenRunning],
    ['starting for the first time', { status: 'Pending', startedAt: null }, onlyWhenRunning],
    ['terminating', { status: 'Terminating' }, { livePerHour: null, whileRunning: null }],
    ['ended', { status: 'Terminated' }, { livePerHour: null, whileRunning: null }],
  ] as const)('in test mode, has the live price that applies while %s', (_, changes, expected) => {
    const { currentTerm } = makeRental();
    const free = {
      currentTerm: { ...currentTerm, costPerHour: 0 },
      releasedCostPerHourNanoUsd: '0',
      liveCostPerHourNanoUsd: '2000000000',
    };
    expect(rentalBilling(makeRental({ ...free, ...changes }))).toMatchObject({ perHour: 0n, ...expected });
  });

  it('has the price while running only if another one is billed now', () => {
    const whileRunning = (changes: Parameters<typeof makeRental>[0]) =>
      rentalBilling(makeRental(changes)).whileRunning;
    expect(whileRunning({})).toBeNull();
    expect(whileRunning({ power: 'off', gpuHeld: false })).toEqual({ nano: full, isLive: false });
    expect(whileRunning({ status: 'Pending', startedAt: null })).toEqual({ nano: full, isLive: false });
    expect(whileRunning({ status: 'Terminating' })).toBeNull();
  });

  it('has no price while running under a contract', () => {
    const { currentTerm } = makeRental();
    const contract = makeRental({ currentTerm: { ...currentTerm, termType: 'private-cloud' } as never });
    expect(rentalBilling(contract)).toMatchObject({ perHour: 0n, whileRunning: null });
  });

  it('a reserved term is paid in advance', () => {
    const { currentTerm } = makeRental();
    const reserved = makeRental({ currentTerm: { ...currentTerm, termType: 'reserved' } as never });
    expect(rentalBilling(reserved)).toMatchObject({ perHour: full, isPrepaid: true });
  });
});
