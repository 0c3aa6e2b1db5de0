import { expect, it } from 'vitest';
import { fileName } from './download.ts';

it('takes the name that the service gives, where it is a plain one', () => {
  expect(fileName('attachment; filename="INV-00000042.pdf"', 'x.pdf')).toBe('INV-00000042.pdf');
  expect(fileName('attachment; filename=costs.csv', 'x.csv')).toBe('costs.csv');
  expect(fileName(null, 'x.csv')).toBe('x.csv');
  expect(fileName('attachment; filename="../../etc"', 'x.csv')).toBe('x.csv');
});
