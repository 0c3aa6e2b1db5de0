import { expect, it } from 'vitest';
import { countMachines, supplierAttention, type SupplierMachine } from './supplier-attention.ts';

const machine = (name: string, fields: Partial<SupplierMachine> = {}): SupplierMachine =>
  ({
    id: name,
    name,
    status: 'node_ready',
    statusReason: null,
    approval: 'approved',
    shown: true,
    notShownBecause: null,
    gpus: [{}, {}],
    gpusRented: 1,
    reliability: { score: 0.99 },
    ...fields,
  }) as unknown as SupplierMachine;

const perfect = {
  score: 1,
  uptime: 1,
  starting: 1,
  watchedSeconds: 86_400,
  starts: 0,
  failedStarts: 0,
  losses: 0,
  quarantines: 0,
  measuredUntil: '2026-11-18T12:00:00.000Z',
};

it('reports faults first, then machines that are not listed or unreliable, then what waits', () => {
  const machines = [
    machine('a'),
    machine('b', { approval: 'pending', shown: false }),
    machine('c', { shown: false, notShownBecause: 'It has no price.' }),
    machine('d', { reliability: { ...perfect, score: 0.9, starts: 10, failedStarts: 2 } }),
    machine('new', { reliability: { ...perfect, score: 0.9 } }),
    machine('e', { status: 'node_offline' }),
  ];
  const items = supplierAttention(machines, { payableNanoUsd: '3000000000' });
  expect(items.map(({ tone, title }) => `${tone}: ${title}`)).toEqual([
    'bad: e is offline',
    'warn: c is not listed',
    'warn: d has a reliability of 90 %',
    'info: b waits for approval',
    'info: $3.00 can be paid out',
  ]);
  expect(items.find(({ key }) => key === 'd')?.detail).toBe(
    'In the last 30 days, 2 instances failed to start.',
  );
});

it('does not offer a payout without payable earnings', () => {
  expect(supplierAttention([], { payableNanoUsd: '0' })).toEqual([]);
  expect(supplierAttention([], { payableNanoUsd: '-5' })).toEqual([]);
});

it('counts listed machines and rented GPUs', () => {
  const machines = [machine('a'), machine('b', { status: 'node_offline' }), machine('c', { shown: false })];
  expect(countMachines(machines)).toEqual({ machines: 3, listed: 1, gpus: 6, rentedGpus: 3 });
});
