import { describe, expect, it } from 'vitest';
import { localToInstant, instantToLocal } from './local-time.ts';

describe('localToInstant and instantToLocal', () => {
  it('round-trip to the minute', () => {
    for (const at of ['2026-08-01T12:34:00.000Z', '2026-12-31T23:59:00.000Z', '2026-02-28T00:00:00.000Z']) {
      expect(localToInstant(instantToLocal(Date.parse(at)))).toBe(at);
    }
  });

  it('accept empty input and reject invalid input', () => {
    expect(localToInstant('')).toBeNull();
    expect(localToInstant('tomorrow')).toBeUndefined();
  });
});
