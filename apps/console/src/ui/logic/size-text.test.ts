import { expect, test } from 'vitest';
import { diskText, memoryText } from './size-text.ts';

test('diskText changes to TB at 1000 GB and leaves out a decimal of zero', () => {
  expect([999, 1_000, 3_520, 64_000].map(diskText)).toEqual(['999 GB', '1 TB', '3.5 TB', '64 TB']);
});

test('memoryText stays in GB, because tenants compare machines by it', () => {
  expect(memoryText(96)).toBe('96 GB');
  expect(memoryText(2_048)).toBe(`${(2_048).toLocaleString()} GB`);
});
