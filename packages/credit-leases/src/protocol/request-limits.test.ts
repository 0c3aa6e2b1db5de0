import { testIds } from '@millrace/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { costsFor, limitSetOf, unusedTokens, type RequestLimit } from './request-limits.ts';

const orgId = testIds.next('org');
const limit: RequestLimit = {
  ...{ name: 'tokens', scope: 'key', subject: 'k', limit: 60, windowMs: 60_000, counts: 'tokens' },
};
const requests: RequestLimit = { ...limit, name: 'requests', counts: 'requests' };

describe('limitSetOf', () => {
  it('checks a list once per organisation', () => {
    const list = [limit, requests];
    const set = limitSetOf(orgId, list);
    expect(limitSetOf(orgId, list)).toBe(set);
    expect(set).toMatchObject({
      keys: [`limit:{${orgId}}:tokens:60000:k`, `limit:{${orgId}}:requests:60000:k`],
      countsTokens: true,
    });
    const other = testIds.next('org');
    expect(limitSetOf(other, list).keys[0]).toContain(other);
  });

  it('counts one request and the given tokens', () => {
    const set = limitSetOf(orgId, [limit, requests]);
    expect(costsFor(set, 17)).toEqual([17, 1]);
    for (const wrong of [-1, 0.5, Number.NaN, 2 ** 50]) {
      expect(() => costsFor(set, wrong)).toThrow(RangeError);
    }
  });
});

describe('unusedTokens', () => {
  it.each([
    [50, 20, 0, 30],
    [50, 20, 10_000, 30],
    // Thirty tokens have refilled since: the refund is twenty of the fifty.
    [50, 20, 30_000, 20],
    [50, 20, 50_000, 0],
    [50, 20, 600_000, 0],
    [50, 50, 0, 0],
    [50, 70, 0, 0],
    [50, 0, -5, 50],
  ])('for %i counted and %i used tokens after %i ms is %i', (counted, used, sinceMs, back) => {
    expect(unusedTokens(limit, { counted, used, sinceMs })).toBe(back);
  });

  it('never leaves a limit with more room than if only the used tokens had been counted', () => {
    const arrivals = fc.array(
      fc.record({ waitMs: fc.integer({ min: 0, max: 20_000 }), tokens: fc.integer({ min: 0, max: 60 }) }),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(fc.nat(200), fc.nat(200), arrivals, (counted, share, others) => {
        const used = Math.min(counted, share);
        // In thousandths of a token, so that a millisecond refills a whole number.
        let [high, exact, sinceMs] = [counted * 1_000, used * 1_000, 0];
        for (const { waitMs, tokens } of others) {
          high = Math.max(0, high - waitMs) + tokens * 1_000;
          exact = Math.max(0, exact - waitMs) + tokens * 1_000;
          sinceMs += waitMs;
        }
        const back = unusedTokens(limit, { counted, used, sinceMs });
        expect(high - back * 1_000).toBeGreaterThanOrEqual(exact);
      }),
    );
  });
});
