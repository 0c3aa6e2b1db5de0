import { expect, test } from 'vitest';
import { hasMoreValuesThan } from './count-json-values.ts';

const holds = (most: number, value: unknown): boolean =>
  hasMoreValuesThan(most, Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)));

test('hasMoreValuesThan counts values at every level', () => {
  expect(holds(4, [1, 1, 1])).toBe(false);
  expect(holds(3, [1, 1, 1])).toBe(true);
  expect(holds(5, { a: { b: [] }, c: null })).toBe(false);
  expect(holds(4, { a: { b: [] }, c: null })).toBe(true);
  expect(holds(100, '['.repeat(200))).toBe(true);
});

test('hasMoreValuesThan ignores the content of strings, whatever is escaped in them', () => {
  for (const text of [',[{'.repeat(100), '\\', '\\\\', '"', '",[{"', '\\",[{\\"', 'é,[{,"'.repeat(50)]) {
    expect(holds(4, [text, text])).toBe(false);
    expect(holds(2, [text, text])).toBe(true);
  }
});

test('hasMoreValuesThan skips an unterminated string', () => {
  expect(holds(2, '["a,b,c,d,e')).toBe(false);
  expect(holds(2, '["a\\"')).toBe(false);
});
