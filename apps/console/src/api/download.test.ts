import { expect, it } from 'vitest';
import { downloadFileName } from './download.ts';

it('downloadFileName returns the name from the header only if it is a plain file name', () => {
  expect(downloadFileName('attachment; filename="INV-00000042.pdf"', 'x.pdf')).toBe('INV-00000042.pdf');
  expect(downloadFileName('attachment; filename=costs.csv', 'x.csv')).toBe('costs.csv');
  expect(downloadFileName(null, 'x.csv')).toBe('x.csv');
  expect(downloadFileName('attachment; filename="../../etc"', 'x.csv')).toBe('x.csv');
});
