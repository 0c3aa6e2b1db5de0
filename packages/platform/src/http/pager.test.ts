import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { isFault } from '../fault/index.ts';
import { decodeCursor, encodeCursor, linkNext, toPage } from './pager.ts';

const position = z.object({ createdAt: z.string(), id: z.string() });

test('decodeCursor returns the position that encodeCursor packed', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (createdAt, id) => {
      expect(decodeCursor(encodeCursor({ createdAt, id }), position)).toEqual({ createdAt, id });
    }),
  );
});

test('decodeCursor throws INVALID_CURSOR for any text that is not a cursor of this list', () => {
  const foreign = encodeCursor({ seq: 7 });
  const unstorable = encodeCursor({ createdAt: 'x', id: 'a\u0000b' });
  for (const cursor of ['', 'garbage', '!!!!', foreign, unstorable, 'bnVsbA', 'W10', '\u0000']) {
    expect(() => decodeCursor(cursor, position)).toThrow(
      expect.objectContaining({ reason: 'INVALID_CURSOR' }),
    );
  }
  fc.assert(
    fc.property(fc.string(), (cursor) => {
      try {
        decodeCursor(cursor, position);
      } catch (error) {
        expect(isFault(error)).toBe(true);
      }
    }),
  );
});

test('toPage returns every row exactly once for every page size', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 1, max: 10 }), (count, limit) => {
      const rows = Array.from({ length: count }, (_, seq) => ({ seq }));
      const seen: number[] = [];
      let after = -1;
      for (;;) {
        const fetched = rows.filter(({ seq }) => seq > after).slice(0, limit + 1);
        const page = toPage({
          rows: fetched,
          limit,
          toItem: ({ seq }) => seq,
          positionOf: ({ seq }) => ({ seq }),
        });
        seen.push(...page.items);
        if (page.nextCursor === null) break;
        after = decodeCursor(page.nextCursor, z.object({ seq: z.int() })).seq;
      }
      expect(seen).toEqual(rows.map(({ seq }) => seq));
    }),
  );
});

test('linkNext keeps the other query parameters', () => {
  expect(linkNext('/v2/things?limit=5&cursor=old&a=b%20c', 'new')).toBe(
    '</v2/things?limit=5&cursor=new&a=b+c>; rel="next"',
  );
  expect(linkNext('/v2/things', 'new')).toBe('</v2/things?cursor=new>; rel="next"');
});
