import { expect, it } from 'vitest';
import { takesSuppliersMachines } from './clusters.ts';

it.each([
  ['incus', 'live', true],
  ['mock', 'live', true],
  ['mock', 'test', false],
  ['ironic', 'live', false],
] as const)('takesSuppliersMachines with the driver %s in %s mode: %s', (driver, mode, expected) => {
  expect(takesSuppliersMachines({ driver, mode })).toBe(expected);
});
