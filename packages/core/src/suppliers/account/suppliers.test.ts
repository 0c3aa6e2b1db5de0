import { expect, it } from 'vitest';
import { statusAfter, type SupplierStatus, type ReviewDecision } from './suppliers.ts';

it.each<[ReviewDecision, SupplierStatus, SupplierStatus]>([
  ['approve', 'applied', 'approved'],
  ['approve', 'rejected', 'approved'],
  ['approve', 'suspended', 'approved'],
  ['approve', 'approved', 'approved'],
  ['reject', 'applied', 'rejected'],
  ['reject', 'rejected', 'rejected'],
  ['reject', 'approved', 'suspended'],
  ['reject', 'suspended', 'suspended'],
])('statusAfter: %s of a supplier that is %s results in %s', (decision, from, to) => {
  expect(statusAfter(from, decision)).toBe(to);
});
