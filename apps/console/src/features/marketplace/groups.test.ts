import { expect, test } from 'vitest';
import { groupMachines } from './groups.ts';
import { machineWith } from './machine.fixture.ts';

test('groupMachines puts identical machines in one row and other prices in their own', () => {
  const [group, ...others] = groupMachines([
    machineWith({ id: 'nod_1', usd: 2, gpus_reserved: 7 }),
    machineWith({ id: 'nod_2', usd: 2, gpus_reserved: 2 }),
    machineWith({ id: 'nod_3', usd: 2.5, gpus_reserved: 8 }),
  ]);
  expect(others).toEqual([]);
  expect(group).toMatchObject({ gpu: 'H100', machineCount: 3, gpusFree: 7, lowestPrice: 2_000_000_000n });
  expect(group?.offers.map(({ machines }) => machines.map(({ id }) => id))).toEqual([
    ['nod_2', 'nod_1'],
    ['nod_3'],
  ]);
  expect(group?.offers[0]).toMatchObject({ gpusFree: 7, gpusTotal: 16 });
});

test('groupMachines keeps regions, suppliers and states apart', () => {
  const [group] = groupMachines([
    machineWith({ id: 'nod_1' }),
    machineWith({ id: 'nod_2', region: 'us-east-1' }),
    machineWith({ id: 'nod_3', supplier_id: 'sup_1' }),
    machineWith({ id: 'nod_4', status: 'node_offline' }),
  ]);
  expect(group?.offers).toHaveLength(4);
});

test('the lowest price is that of a machine that can be rented', () => {
  const [group] = groupMachines([
    machineWith({ id: 'nod_1', usd: 1, status: 'node_offline' }),
    machineWith({ id: 'nod_2', usd: 3 }),
  ]);
  expect(group).toMatchObject({ lowestPrice: 3_000_000_000n, gpusFree: 5 });
  const [full] = groupMachines([machineWith({ usd: 1, gpus_reserved: 8 })]);
  expect(full).toMatchObject({ lowestPrice: 1_000_000_000n, gpusFree: 0 });
});

test('groups keep the order of the list, or are sorted by computing power for the price', () => {
  const machines = [
    machineWith({ gpu: 'A', usd: 1 }),
    machineWith({ gpu: 'B', usd: 2, tflops: 60 }),
    machineWith({ gpu: 'C', usd: 3, tflops: 120 }),
  ];
  expect(groupMachines(machines).map(({ gpu }) => gpu)).toEqual(['A', 'B', 'C']);
  expect(groupMachines(machines, 'value').map(({ gpu }) => gpu)).toEqual(['C', 'B', 'A']);
});
