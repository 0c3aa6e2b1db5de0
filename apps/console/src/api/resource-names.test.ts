import { expect, it } from 'vitest';
import { instanceNumbers, namesById } from './resource-names.ts';

it('namesById leaves out resources without a name', () => {
  const named = namesById([
    { id: 1, name: 'train', label: 'x' },
    { id: 2, name: null, label: null },
    { id: 3, label: 'data' },
  ]);
  expect([...named]).toEqual([
    ['1', 'train'],
    ['3', 'data'],
  ]);
});

it('instanceNumbers has each instance once, and not more than the page looks up', () => {
  const of = (id: number) => ({ kind: 'instance', id: String(id) });
  expect(instanceNumbers([of(2), of(1), of(2), { kind: 'rental', id: '7' }])).toEqual(['1', '2']);
  expect(instanceNumbers(Array.from({ length: 50 }, (_, index) => of(index)))).toHaveLength(20);
});
