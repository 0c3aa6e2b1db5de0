import { meteredTotal, nanoUsd, ppm } from '@millrace/platform/money';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quoteInput, list, optionOf, priceOf, h100 } from './prices.fixture.ts';
import {
  priceAfterTerm,
  commitmentOf,
  durationCost,
  earlyTerminationOf,
  parseFrozenPrice,
  rateOf,
  type FrozenPrice,
} from './frozen-price.ts';
import { buildQuote } from './quote.ts';

const dayMs = 86_400_000;
const onDemand = buildQuote(quoteInput()).frozen.rental;

/** One GPU at 9 nano-USD per hour for a day, 216 in total; 10 per hour afterwards. */
function termAt(refundPpm: number): FrozenPrice {
  const option = optionOf({ termPeriodDays: 1, discount: ppm(100_000), refund: ppm(refundPpm) });
  const request = { gpuCount: 1, termType: 'reserved', termPeriodDays: 1 } as const;
  return buildQuote(quoteInput(request, { prices: [priceOf(h100, 10n)], reserveOptions: [option] })).frozen
    .rental;
}

describe('frozen price', () => {
  it('is unchanged after being stored as JSON', () => {
    for (const frozen of [onDemand, termAt(1)]) {
      expect(parseFrozenPrice(JSON.parse(JSON.stringify(frozen)))).toEqual(frozen);
    }
    expect(rateOf(onDemand)).toBe(31_840_000_008n);
    expect(commitmentOf(onDemand)).toBe(0n);
    expect(commitmentOf(termAt(1))).toBe(216n);
  });

  it.each<[string, object]>([
    ['of another version', { version: 2 }],
    ['with a negative rate', { rateNanoUsdPerHour: '-1' }],
    ['with a rate that is not a whole number', { rateNanoUsdPerHour: '1.5' }],
    ['with a rate beyond 64 bits', { rateNanoUsdPerHour: '9223372036854775808' }],
    ['with a number for an amount', { originalNanoUsdPerHour: 5 }],
    ['with a discount above 100 percent', { discountPpm: 1_000_001 }],
    ['with a negative discount', { discountPpm: -1 }],
    ['without a quantity', { quantity: 0 }],
    ['with a price id that is a date', { priceIds: [onDemand.frozenAt] }],
    ['with a price id that is a number', { priceIds: [7] }],
    ['with the id of another kind', { priceIds: [list.id.replace('prc_', 'rso_')] }],
    ['with an unknown field', { surcharge: '1' }],
    ['with half a term', { reserve: { termPeriodDays: 1 } }],
    ['for an unknown product', { product: 'tea' }],
    ['with an invalid time', { frozenAt: 'yesterday' }],
  ])('%s is rejected by parseFrozenPrice', (_, change) => {
    expect(() => parseFrozenPrice({ ...onDemand, ...change })).toThrow();
  });

  it('can contain the largest amount', () => {
    const frozen = parseFrozenPrice({ ...onDemand, rateNanoUsdPerHour: '9223372036854775807' });
    expect(rateOf(frozen)).toBe(2n ** 63n - 1n);
  });
});

describe('earlyTerminationOf', () => {
  const half = termAt(500_000);

  it.each([
    [0, 0n, 108n, 108n],
    [dayMs / 2, 108n, 54n, 54n],
    [3_600_000, 9n, 103n, 104n],
    [dayMs - 1, 215n, 0n, 1n],
    [dayMs, 216n, 0n, 0n],
    [dayMs + 1, 216n, 0n, 0n],
    [10 * dayMs, 216n, 0n, 0n],
  ])('after %d ms returns %d used, %d refunded and %d owed', (elapsedMs, used, refund, owed) => {
    expect(earlyTerminationOf(half, elapsedMs)).toEqual({ used, refund, owed });
  });

  it('refunds nothing or everything, as sold', () => {
    expect(earlyTerminationOf(termAt(0), 0)).toEqual({ used: 0n, refund: 0n, owed: 216n });
    expect(earlyTerminationOf(termAt(1_000_000), 3_600_000)).toEqual({ used: 9n, refund: 207n, owed: 0n });
  });

  it('splits the commitment without loss, and never refunds more than the percentage', () => {
    const elapsed = fc.integer({ min: 0, max: 2 * dayMs });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_000_000 }), elapsed, (refundPpm, elapsedMs) => {
        const { used, refund, owed } = earlyTerminationOf(termAt(refundPpm), elapsedMs);
        expect(used + refund + owed).toBe(216n);
        expect(refund >= 0n && owed >= 0n).toBe(true);
        expect(refund * 1_000_000n <= (216n - used) * BigInt(refundPpm)).toBe(true);
      }),
    );
  });

  it('throws for an on-demand price', () => {
    expect(() => earlyTerminationOf(onDemand, 0)).toThrow('Only a reserved term can be ended early.');
  });
});

describe('priceAfterTerm', () => {
  it('is the on-demand price that was agreed with the term', () => {
    const after = priceAfterTerm(termAt(500_000));
    expect(after).toMatchObject({ rateNanoUsdPerHour: '10', discountPpm: 0, reserve: null });
    expect(parseFrozenPrice(JSON.parse(JSON.stringify(after)))).toEqual(after);
    const claimed = { ...termAt(0), originalNanoUsdPerHour: '200' };
    const { reserve } = claimed;
    if (reserve === null) throw new Error('no term');
    const entitled = { ...claimed, reserve: { ...reserve, onDemandNanoUsdPerHour: '190' } };
    expect(priceAfterTerm(entitled)).toMatchObject({ rateNanoUsdPerHour: '190', discountPpm: 50_000 });
    const free = { ...entitled, originalNanoUsdPerHour: '0' };
    expect(priceAfterTerm(free).discountPpm).toBe(0);
  });

  it('throws without a term', () => {
    expect(() => priceAfterTerm(onDemand)).toThrow('Only a reserved term has a price after its end.');
  });
});

describe('durationCost', () => {
  it('on demand equals the posting of the meter', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 10n ** 12n }),
        fc.integer({ min: 0, max: 10 ** 10 }),
        (rate, ms) => {
          const frozen = { ...onDemand, rateNanoUsdPerHour: String(rate) };
          expect(durationCost(frozen, ms)).toBe(meteredTotal(nanoUsd(rate), ms));
        },
      ),
    );
  });

  it.each([
    [0, 108n],
    [dayMs / 2, 162n],
    [dayMs, 216n],
    [dayMs + 360_000, 217n],
    [dayMs + 359_999, 216n],
    [dayMs + 3_600_000, 226n],
  ])('with a term for %d ms is %d', (elapsedMs, cost) => {
    expect(durationCost(termAt(500_000), elapsedMs)).toBe(cost);
  });
});
