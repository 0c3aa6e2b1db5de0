import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { computeShardShare } from './shards.ts';

describe('computeShardShare', () => {
  test('lets the live relays hold all shards together, each at most its fair share', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), (relaysAlive) => {
        const { missing } = computeShardShare({ held: [], shardCount: 64, relaysAlive });
        expect(missing * relaysAlive).toBeGreaterThanOrEqual(64);
        expect((missing - 1) * relaysAlive).toBeLessThan(64);
      }),
    );
  });

  test('releases exactly the surplus shards, independent of the order of held', () => {
    expect(computeShardShare({ held: [3, 1, 2, 0], shardCount: 4, relaysAlive: 2 })).toEqual({
      surplus: [2, 3],
      missing: 0,
    });
    expect(computeShardShare({ held: [0], shardCount: 4, relaysAlive: 2 })).toEqual({
      surplus: [],
      missing: 1,
    });
  });
});
