import { describe, expect, it } from 'vitest';
import { PurgeDelay } from './purge-delay.ts';

describe('PurgeDelay.through', () => {
  it('permits to purge processed messages at once without a delay', () => {
    const delay = new PurgeDelay(0);
    expect([delay.through(0, 7n, false), delay.through(1, 9n, false)]).toEqual([7n, 9n]);
  });

  it('permits to purge messages that were processed before the delay', () => {
    const delay = new PurgeDelay(60_000);
    const positions = Array.from({ length: 121 }, (_, second) =>
      delay.through(second * 1_000, BigInt(second + 1), false),
    );
    expect([positions[59], positions[60], positions[61], positions[120]]).toEqual([0n, 1n, 2n, 61n]);
  });

  it('permits to purge the older half of the processed messages while the stream is crowded', () => {
    const delay = new PurgeDelay(60_000);
    for (let second = 0; second < 10; second += 1) delay.through(second * 1_000, BigInt(second + 1), false);
    expect(delay.through(9_500, 10n, true)).toBe(6n);
    expect(delay.through(9_600, 10n, true)).toBe(9n);
    expect(delay.through(9_700, 10n, true)).toBe(10n);
    expect(delay.through(9_800, 10n, true)).toBe(10n);
  });

  it('returns no earlier position than before', () => {
    const delay = new PurgeDelay(1_000);
    delay.through(0, 5n, false);
    expect(delay.through(1_000, 5n, false)).toBe(5n);
    expect(delay.through(1_001, 6n, false)).toBe(5n);
  });
});
