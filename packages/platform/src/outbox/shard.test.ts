import { describe, expect, it } from 'vitest';
import { createIdSource, fromUuid } from '../ids/index.ts';
import { SimulatedClock } from '../clock/index.ts';
import { outboxShards, shardOf } from './index.ts';

describe('shardOf', () => {
  it('never changes, because databases contain these values', () => {
    expect(shardOf(fromUuid('org', '019a0000-0000-7000-8000-000000000000'))).toBe(0);
    expect(shardOf(fromUuid('org', '019a0000-0000-7000-8000-0000000000ff'))).toBe(63);
    expect(shardOf(fromUuid('org', '019a0000-0000-7000-8000-000000000147'))).toBe(7);
  });

  it('spreads organisations over all shards', () => {
    const ids = createIdSource({ clock: new SimulatedClock(), cell: 1 });
    const counts = new Map<number, number>();
    for (let made = 0; made < 6_400; made += 1) {
      const shard = shardOf(ids.next('org'));
      counts.set(shard, (counts.get(shard) ?? 0) + 1);
    }
    expect(counts.size).toBe(outboxShards);
    expect(Math.max(...counts.values())).toBeLessThan(200);
  });
});
