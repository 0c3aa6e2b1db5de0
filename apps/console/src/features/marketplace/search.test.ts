import { describe, expect, test } from 'vitest';
import {
  toListInput,
  listParam,
  machinesCommand,
  parseInstanceSearch,
  parseMachineSearch,
  searchIssues,
  toggleInList,
} from './search.ts';

test('parseMachineSearch drops unknown values', () => {
  expect(parseMachineSearch({ gpu: '', sort: 'beauty', all: 'maybe', colour: 'red' })).toEqual({});
  expect(parseMachineSearch({ gpu: 'H100', gpus: 2, all: 'yes' })).toEqual({
    gpu: 'H100',
    gpus: '2',
    all: 'yes',
  });
  expect(parseInstanceSearch({ view: 'history' })).toEqual({ view: 'history' });
  expect(parseInstanceSearch({ view: 'x' })).toEqual({});
});

describe('toListInput', () => {
  test('requests available machines by price by default', () => {
    expect(toListInput({}, 'live')).toEqual({
      filters: { available: true },
      sort: [{ field: 'pricing.price.amount', dir: 'asc' }],
    });
    expect(toListInput({ all: 'yes' }, 'live').filters).toEqual({});
  });

  test('includes all chosen filters', () => {
    const search = {
      gpu: 'H100',
      gpus: '2',
      min: '1',
      max: '$2.50',
      region: 'eu-west-1',
      supplier: 'platform',
    };
    expect(toListInput(search, 'live').filters).toEqual({
      gpu_model: 'H100',
      min_gpus_available: 2,
      max_price: 2.5,
      'pricing.price.amount': { gte: 1 },
      region: 'eu-west-1',
      supplier_id: 'platform',
      available: true,
    });
  });

  test('requests any value of a list', () => {
    expect(toListInput({ gpu: 'H100,A100', region: 'eu-west-1,us-east-1' }, 'live').filters).toEqual({
      gpu_model: { in: ['H100', 'A100'] },
      region: { in: ['eu-west-1', 'us-east-1'] },
      available: true,
    });
  });

  test('uses the region of test mode in test mode', () => {
    expect(toListInput({ region: 'eu-west-1' }, 'test').filters).toMatchObject({ region: 'mock-region' });
  });

  test('omits invalid values, and searchIssues reports prices', () => {
    const half = { gpus: '2x', min: 'x', max: '2.' };
    expect(toListInput(half, 'live').filters).toEqual({ available: true });
    expect(Object.keys(searchIssues(half))).toEqual(['min', 'max']);
    expect(searchIssues({ max: '-1' })).toHaveProperty('max');
    expect(searchIssues({ min: '1', max: '1,000.5' })).toEqual({});
  });
});

test('toggleInList adds a value, removes it again, and leaves no empty list', () => {
  expect(toggleInList(undefined, 'H100')).toBe('H100');
  expect(toggleInList('H100', 'A100')).toBe('H100,A100');
  expect(toggleInList('H100,A100', 'H100')).toBe('A100');
  expect(toggleInList('A100', 'A100')).toBeUndefined();
  expect(listParam('A100,,H100')).toEqual(['A100', 'H100']);
});

test('machinesCommand uses the same filters', () => {
  expect(machinesCommand({ gpu: 'RTX 4090', gpus: '2', max: '2.50', all: 'yes' })).toBe(
    "millrace market list --gpu 'RTX 4090' --gpus 2 --max-price 2.50 --all",
  );
  expect(machinesCommand({ gpus: 'x', gpu: 'H100,A100' })).toBe('millrace market list');
});
