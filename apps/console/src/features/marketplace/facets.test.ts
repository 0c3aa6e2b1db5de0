import { expect, test } from 'vitest';
import { facetsOf, withChosen } from './facets.ts';
import { machineWith } from './machine.fixture.ts';

test('facetsOf counts machines by value, most frequent first', () => {
  const facets = facetsOf([
    machineWith({ gpu: 'B200', usd: 4, region: 'us-east-1' }),
    machineWith({ gpu: 'H100', usd: 2 }),
    machineWith({ gpu: 'H100', usd: 1.5, supplier_id: 'sup_1', tflops: 60 }),
  ]);
  expect(facets).toEqual({
    gpus: [
      { value: 'H100', machineCount: 2 },
      { value: 'B200', machineCount: 1 },
    ],
    regions: [
      { value: 'eu-west-1', machineCount: 2 },
      { value: 'us-east-1', machineCount: 1 },
    ],
    suppliers: [
      { value: 'platform', machineCount: 2 },
      { value: 'sup_1', machineCount: 1 },
    ],
    gpuCounts: [1, 2, 4],
    prices: { lowest: 1_500_000_000n, highest: 4_000_000_000n },
    hasPerformance: true,
  });
});

test('facetsOf of no machines is empty', () => {
  expect(facetsOf([])).toMatchObject({ gpus: [], gpuCounts: [], prices: null, hasPerformance: false });
});

test('withChosen also lists a chosen value that no machine has', () => {
  expect(withChosen([{ value: 'H100', machineCount: 2 }], ['H100', 'A100'])).toEqual([
    { value: 'H100', machineCount: 2 },
    { value: 'A100', machineCount: 0 },
  ]);
});
