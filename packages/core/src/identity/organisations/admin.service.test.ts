import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { slugOf } from './admin.service.ts';

describe('slugOf', () => {
  it.each([
    ['Example Ltd', 'example-ltd'],
    ['  --A & B--  ', 'a-b'],
    ['Ünïcödé', 'u-ni-co-de'],
    ['株式会社', 'organisation'],
    ['x'.repeat(100), 'x'.repeat(63)],
  ])('converts %j to %j', (name, slug) => {
    expect(slugOf(name)).toBe(slug);
  });

  it('always satisfies the database constraint', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (name) =>
        /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(slugOf(name)),
      ),
    );
  });
});
