import { ppm, type NanoUsd } from '@millrace/platform/money';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  eightGpus,
  acme,
  day,
  entitlementOf,
  h100,
  quoteInput,
  optionOf,
  priceOf,
  faultOf,
  reserved,
} from './prices.fixture.ts';
import { buildQuote } from './quote.ts';

describe('any quote', () => {
  const anyInput = fc
    .record({
      unit: fc.bigInt({ min: 0n, max: 10n ** 11n }),
      gb: fc.bigInt({ min: 0n, max: 10n ** 6n }),
      gpuCount: fc.integer({ min: 1, max: 1_000 }),
      size: fc.option(fc.integer({ min: 256, max: 64_000 }), { nil: undefined }),
      claimedPpm: fc.integer({ min: 0, max: 1_000_000 }),
      grantedPpm: fc.integer({ min: 0, max: 1_000_000 }),
      publishedPpm: fc.integer({ min: 0, max: 1_000_000 }),
      refundPpm: fc.integer({ min: 0, max: 1_000_000 }),
      isReserved: fc.boolean(),
      durationSeconds: fc.integer({ min: 1, max: 5_000_000 }),
    })
    .map((draw) => {
      const spec = {
        gpuCount: draw.gpuCount,
        discountPercentage: draw.claimedPpm / 10_000,
        durationSeconds: draw.durationSeconds,
        ...(draw.size === undefined ? {} : { storageSizeInGb: draw.size }),
        ...(draw.isReserved ? reserved : {}),
      };
      const input = quoteInput(spec, {
        prices: [priceOf(h100, draw.unit), priceOf({ kind: 'volume', region: null }, draw.gb)],
        entitlements: [entitlementOf(draw.grantedPpm)],
        reserveOptions: [optionOf({ discount: ppm(draw.publishedPpm), refund: ppm(draw.refundPpm) })],
      });
      return { draw, input, spec: spec };
    });
  const publishedIn = (draw: { isReserved: boolean; publishedPpm: number }): number =>
    draw.isReserved ? draw.publishedPpm : 0;

  it('applies a discount exactly if it is granted or published, and never a higher one', () => {
    fc.assert(
      fc.property(anyInput, ({ draw, input }) => {
        const allowed = Math.max(draw.grantedPpm, publishedIn(draw));
        if (draw.claimedPpm > allowed) {
          expect(faultOf(input).reason).toBe('DISCOUNT_NOT_ENTITLED');
          return;
        }
        const { frozen, discount } = buildQuote(input);
        const original = BigInt(frozen.rental.originalNanoUsdPerHour);
        const off = original - BigInt(frozen.rental.rateNanoUsdPerHour);
        expect(discount).toBe(Math.max(draw.claimedPpm, publishedIn(draw)));
        expect(off * 1_000_000n <= original * BigInt(allowed)).toBe(true);
        // And it is less than one nano-USD below the promised discount.
        expect((off + 1n) * 1_000_000n > original * BigInt(discount)).toBe(true);
      }),
    );
  });

  it('agrees with separate rational arithmetic to the nano-USD', () => {
    fc.assert(
      fc.property(anyInput, ({ draw, input }) => {
        fc.pre(draw.claimedPpm <= Math.max(draw.grantedPpm, publishedIn(draw)));
        const quoted = buildQuote(input);
        const expected = byHand(draw);
        expect({
          perHour: quoted.perHour,
          hold: quoted.hold,
          total: quoted.total,
          perSecond: quoted.perSecond,
        }).toEqual(expected);
        const lines = quoted.lines.reduce((sum: bigint, line) => sum + line.perHour, 0n);
        expect(lines).toBe(quoted.perHour);
      }),
    );
  });

  it('never falls with longer durations', () => {
    fc.assert(
      fc.property(anyInput, fc.integer({ min: 0, max: 5_000_000 }), ({ draw, input, spec }, longer) => {
        fc.pre(draw.claimedPpm <= Math.max(draw.grantedPpm, publishedIn(draw)));
        const totalFor = (durationSeconds: number): NanoUsd =>
          buildQuote({ ...input, spec: { ...eightGpus, ...spec, durationSeconds } }).total ??
          expect.fail('a time was given');
        expect(totalFor(draw.durationSeconds) <= totalFor(draw.durationSeconds + longer)).toBe(true);
      }),
    );
  });

  it('keeps its frozen price when the price list changes', () => {
    fc.assert(
      fc.property(anyInput, fc.bigInt({ min: 0n, max: 10n ** 11n }), ({ draw, input }, newPrice) => {
        fc.pre(draw.claimedPpm <= Math.max(draw.grantedPpm, publishedIn(draw)));
        const prices = [...input.prices];
        const { frozen } = buildQuote({ ...input, prices });
        const stored = JSON.stringify(frozen);
        prices.push(priceOf(h100, newPrice, { validFrom: day(9), orgId: acme }));
        buildQuote({ ...input, prices });
        expect(JSON.stringify(frozen)).toBe(stored);
        expect(JSON.parse(stored)).toEqual(frozen);
      }),
    );
  });

  /** The same in plain fractions, with only ceil and floor as rounding. */
  function byHand(
    draw: Parameters<typeof publishedIn>[0] & {
      unit: bigint;
      gb: bigint;
      gpuCount: number;
      size: number | undefined;
      claimedPpm: number;
      grantedPpm: number;
      refundPpm: number;
      durationSeconds: number;
    },
  ): { perHour: bigint; hold: bigint; total: bigint; perSecond: bigint } {
    const floor = (n: bigint, d: bigint): bigint => (n - (n % d)) / d;
    const ceil = (n: bigint, d: bigint): bigint => floor(n + d - 1n, d);
    const original = draw.unit * BigInt(draw.gpuCount);
    const share = BigInt(1_000_000 - Math.max(draw.claimedPpm, publishedIn(draw)));
    const afterShare = BigInt(1_000_000 - Math.min(draw.claimedPpm, draw.grantedPpm));
    const gpu = ceil(original * share, 1_000_000n);
    const gpuAfter = ceil(original * afterShare, 1_000_000n);
    const storage = draw.gb * BigInt(draw.size ?? 0);
    const seconds = BigInt(draw.durationSeconds);
    const window = (rate: bigint): bigint => ceil(rate * 75n, 60n);
    const run = (rate: bigint, s: bigint): bigint => floor(rate * s, 3_600n);
    const termSeconds = 30n * 86_400n;
    const committed = gpu * 720n;
    const inTerm = seconds < termSeconds ? seconds : termSeconds;
    const refund = floor((committed - run(gpu, inTerm)) * BigInt(draw.refundPpm), 1_000_000n);
    const gpuTotal = draw.isReserved
      ? committed - refund + run(gpuAfter, seconds - inTerm)
      : run(gpu, seconds);
    return {
      perHour: gpu + storage,
      hold: (draw.isReserved ? committed : window(gpu)) + window(storage),
      total: gpuTotal + run(storage, seconds),
      perSecond: ceil(gpu + storage, 3_600n),
    };
  }
});
