import { Fault } from '@millrace/platform/fault';
import { nanoUsd, ppm, type NanoUsd } from '@millrace/platform/money';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  acme,
  day,
  eightGpus,
  entitlementOf,
  h100,
  quoteInput,
  list,
  optionOf,
  other,
  priceOf,
  volume,
} from './prices.fixture.ts';
import { toWireQuote } from './prices.wire.ts';
import {
  applyDiscount,
  freezeStoragePrice,
  initialHold,
  buildQuote,
  QUOTE_VALID_MS,
  type QuoteInput,
} from './quote.ts';

function faultOf(input: QuoteInput): Fault {
  try {
    buildQuote(input);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  return expect.fail('the quote was not refused');
}

const entitled = (discountPpm: number): Partial<QuoteInput> => ({
  entitlements: [entitlementOf(discountPpm)],
});
const reserved = { termType: 'reserved', termPeriodDays: 30 } as const;
const rich = { available: nanoUsd(10n ** 18n) };

describe('on-demand quote', () => {
  it('shows hourly and per-second price, lines, hold and runway', () => {
    expect(buildQuote(quoteInput())).toEqual({
      perHour: 31_840_000_008n,
      originalPerHour: 31_840_000_008n,
      // 31 840 000 008 / 3600 = 8 844 444.4466…
      perSecond: 8_844_445n,
      discount: 0,
      lines: [
        {
          kind: 'gpu',
          description: '8 × h100 in us-central-1 (virtual-machine, ethernet)',
          perHour: 31_840_000_008n,
        },
      ],
      hold: 39_800_000_010n,
      total: null,
      term: null,
      // 100 / 31.840000008 hours
      runwaySeconds: 11_306,
      affordable: true,
      validUntil: new Date(day(10).getTime() + 900_000),
      frozen: {
        rental: {
          version: 1,
          product: 'rental',
          rateNanoUsdPerHour: '31840000008',
          originalNanoUsdPerHour: '31840000008',
          discountPpm: 0,
          quantity: 8,
          unitNanoUsdPerHour: '3980000001',
          reserve: null,
          priceIds: [list.id],
          frozenAt: '2026-01-11T00:00:00.000Z',
        },
        volume: null,
      },
    });
  });

  it('has a separate line, price and hold for storage', () => {
    const quoted = buildQuote(
      quoteInput({ storageSizeInGb: 256, discountPercentage: 50 }, entitled(500_000)),
    );
    expect(quoted).toMatchObject({
      perHour: 15_920_000_004n + 35_072_000n,
      originalPerHour: 31_840_000_008n + 35_072_000n,
      discount: 500_000,
      hold: 19_900_000_005n + 43_840_000n,
    });
    expect(quoted.lines).toEqual([
      expect.objectContaining({ kind: 'gpu', perHour: 31_840_000_008n }),
      { kind: 'discount', description: '50 % off', perHour: -15_920_000_004n },
      { kind: 'storage', description: '256 GB of storage', perHour: 35_072_000n },
    ]);
    expect(quoted.frozen.volume).toEqual({
      version: 1,
      product: 'volume',
      rateNanoUsdPerHour: '35072000',
      originalNanoUsdPerHour: '35072000',
      discountPpm: 0,
      quantity: 256,
      unitNanoUsdPerHour: '137000',
      reserve: null,
      priceIds: [volume.id],
      frozenAt: '2026-01-11T00:00:00.000Z',
    });
  });

  it('uses the storage price of the region', () => {
    const here = priceOf({ kind: 'volume', region: 'us-central-1' }, 1n);
    const input = quoteInput({ storageSizeInGb: 300 }, { prices: [list, volume, here] });
    expect(buildQuote(input).frozen.volume).toMatchObject({ rateNanoUsdPerHour: '300', priceIds: [here.id] });
  });

  it('totals the postings of the meters, each rounded down over the whole time', () => {
    const prices = [
      priceOf(h100, 3_599n),
      priceOf({ kind: 'volume', region: null }, 7n),
      priceOf({ kind: 'disk', region: null }, 1_000_000n),
    ];
    const request = { gpuCount: 1, durationSeconds: 1 };
    expect(buildQuote(quoteInput(request, { prices })).total).toBe(0n);
    expect(buildQuote(quoteInput({ ...request, durationSeconds: 2 }, { prices })).total).toBe(1n);
    // 3599 and 1799 nano-USD per hour: 0.99… and 0.49… per second, 2.99… and 1.49… in three, each rounded down.
    const withStorage = { ...request, storageSizeInGb: 257 };
    expect(buildQuote(quoteInput(withStorage, { prices })).total).toBe(0n);
    expect(buildQuote(quoteInput({ ...withStorage, durationSeconds: 3 }, { prices })).total).toBe(2n + 1n);
    expect(buildQuote(quoteInput({ ...withStorage, durationSeconds: 3_600 }, { prices })).total).toBe(
      3_599n + 1_799n,
    );
  });

  it('ignores a term, which is for reserved rentals only', () => {
    expect(buildQuote(quoteInput({ termPeriodDays: 30 }))).toEqual(buildQuote(quoteInput()));
  });

  it("uses the price of the requested machine, region and network, and the caller's contract", () => {
    const prices = [
      list,
      priceOf({ ...h100, machineType: 'bare-metal' }, 10n),
      priceOf({ ...h100, networkType: 'infiniband' }, 20n),
      priceOf({ ...h100, region: 'eu-west-1' }, 30n),
      priceOf({ ...h100, gpuType: 'h200' }, 40n),
      priceOf({ ...h100, region: 'jp-east-1' }, 50n, { orgId: other }),
    ];
    const hour = (request: Parameters<typeof quoteInput>[0], orgId = acme): bigint =>
      buildQuote(quoteInput({ gpuCount: 1, ...request }, { prices, orgId })).perHour;
    expect(hour({ rentalType: 'bare-metal' })).toBe(10n);
    expect(hour({ networkType: 'infiniband' })).toBe(20n);
    expect(hour({ region: 'eu-west-1' })).toBe(30n);
    expect(hour({ gpuType: 'h200' })).toBe(40n);
    expect(hour({ region: 'jp-east-1' })).toBe(3_980_000_001n);
    expect(hour({ region: 'jp-east-1' }, other)).toBe(50n);
  });

  it.each([
    ['GPUs', { gpuType: 'b200' }],
    ['storage', { storageSizeInGb: 256 }],
  ] as const)('is refused if no price is set for the %s', (_, request) => {
    expect(faultOf(quoteInput(request, { prices: [list] })).reason).toBe('PRICE_NOT_AVAILABLE');
  });

  it('uses the price at its time', () => {
    const next = priceOf(h100, 1n, { validFrom: day(10) });
    const prices = [list, next];
    const justBefore = new Date(day(10).getTime() - 1);
    expect(buildQuote(quoteInput({}, { prices, now: justBefore })).frozen.rental.priceIds).toEqual([list.id]);
    expect(buildQuote(quoteInput({}, { prices })).frozen.rental.priceIds).toEqual([next.id]);
  });
});

describe('quote and balance', () => {
  const hold = 39_800_000_010n;

  it.each([
    [hold, true],
    [hold + 1n, true],
    [hold - 1n, false],
    [0n, false],
    [-1n, false],
  ])('with %d available is affordable: %s', (available, affordable) => {
    expect(buildQuote(quoteInput({}, { available: nanoUsd(available) })).affordable).toBe(affordable);
  });

  it('is affordable on any balance without a hold', () => {
    const prices = [priceOf(h100, 0n)];
    expect(buildQuote(quoteInput({}, { prices, available: nanoUsd(-5n) })).affordable).toBe(true);
  });

  it('includes running resources in the runway', () => {
    const prices = [priceOf(h100, 1_000_000_000n)];
    const runway = (available: bigint, perHour: bigint, cover = 0n): number | null => {
      const burn = { burnPerHour: nanoUsd(perHour), cover: nanoUsd(cover) };
      return buildQuote(quoteInput({ gpuCount: 1 }, { prices, available: nanoUsd(available), burn }))
        .runwaySeconds;
    };
    expect(runway(1_000_000_000n, 1_000_000_000n, 3_000_000_000n)).toBe(7_200);
    expect(runway(2_000_000_000n, 0n)).toBe(7_200);
    expect(runway(2_000_000_000n, 1_000_000_000n)).toBe(3_600);
    expect(runway(1_999_999_999n, 0n)).toBe(7_199);
    expect(runway(0n, 0n)).toBe(0);
    expect(runway(-1n, 0n)).toBe(0);
  });

  it('has no runway if nothing costs anything, and a bounded one at a tiny price', () => {
    const free = { prices: [priceOf(h100, 0n)] };
    expect(buildQuote(quoteInput({}, free)).runwaySeconds).toBeNull();
    const nearly = { prices: [priceOf(h100, 1n)], available: nanoUsd(2n ** 62n) };
    expect(buildQuote(quoteInput({ gpuCount: 1 }, nearly)).runwaySeconds).toBe(Number.MAX_SAFE_INTEGER);
  });

  it('holds as far ahead as the hold window', () => {
    expect(buildQuote(quoteInput({}, { holdWindowMs: 3_600_000 })).hold).toBe(31_840_000_008n);
    expect(buildQuote(quoteInput({}, { holdWindowMs: 1 })).hold).toBe(8_845n);
    expect(buildQuote(quoteInput({}, { holdWindowMs: 0 })).hold).toBe(0n);
  });

  it('refuses an amount beyond the range of an account', () => {
    const prices = [priceOf(h100, 10n ** 15n)];
    const fault = faultOf(quoteInput({ gpuCount: 100_000 }, { prices }));
    expect(fault.reason).toBe('VALIDATION_FAILED');
    expect(fault.message).toBe('The price of this request exceeds the largest possible balance.');
    expect(fault.suggestion).toBe('Request fewer GPUs or a shorter duration.');
    expect(fault.cause).toBeInstanceOf(RangeError);
  });
});

describe('reserved quote', () => {
  it('holds the whole price of the term and shows its refund', () => {
    const option = optionOf();
    const quoted = buildQuote(quoteInput(reserved, { ...rich, reserveOptions: [option] }));
    expect(quoted).toMatchObject({
      // 31 840 000 008 less 20 % is 25 472 000 006.4, rounded up.
      perHour: 25_472_000_007n,
      originalPerHour: 31_840_000_008n,
      discount: 200_000,
      hold: 25_472_000_007n * 720n,
      total: 25_472_000_007n * 720n,
      affordable: true,
      runwaySeconds: null,
    });
    expect(quoted.lines[1]).toEqual({
      kind: 'discount',
      description: '20 % off',
      perHour: 25_472_000_007n - 31_840_000_008n,
    });
    expect(quoted.term).toEqual({
      optionId: option.id,
      termPeriodDays: 30,
      committedNanoUsd: String(25_472_000_007n * 720n),
      refundPpm: 500_000,
      onDemandNanoUsdPerHour: '31840000008',
    });
    expect(quoted.frozen.rental.reserve).toBe(quoted.term);
  });

  it('holds the term plus the hold window of the storage, which is paid hourly', () => {
    const available = nanoUsd(25_472_000_007n * 720n + 35_072_000n * 2n);
    const quoted = buildQuote(quoteInput({ ...reserved, storageSizeInGb: 256 }, { available }));
    expect(quoted.hold).toBe(25_472_000_007n * 720n + 43_840_000n);
    expect(quoted.total).toBe(25_472_000_007n * 720n + 35_072_000n * 720n);
    expect(quoted.runwaySeconds).toBe(7_200);
    expect(quoted.affordable).toBe(true);
  });

  it.each([
    ['one second less', 30 * 86_400 - 1, -3_537_778n],
    ['the whole of it', 30 * 86_400, 0n],
    ['an hour more, at the on-demand price', 30 * 86_400 + 3_600, 31_840_000_008n],
  ])('for %s costs the commitment and %3$d', (_, durationSeconds, more) => {
    const { total } = buildQuote(quoteInput({ ...reserved, durationSeconds }, rich));
    expect(total).toBe(25_472_000_007n * 720n + more);
  });

  it('requires a term length that is on offer', () => {
    const without = faultOf(quoteInput({ termType: 'reserved' }));
    expect(without.reason).toBe('VALIDATION_FAILED');
    expect(without.message).toBe('termPeriodDays is required with the termType reserved.');
    expect(without.issues).toEqual([
      { path: ['termPeriodDays'], message: 'is required with the termType reserved', code: 'custom' },
    ]);
    expect(faultOf(quoteInput({ ...reserved, termPeriodDays: 31 })).reason).toBe('RESERVE_OPTION_NOT_FOUND');
    for (const mismatch of [
      { machineType: 'bare-metal' },
      { gpuType: 'h200' },
      { region: 'eu-west-1' },
    ] as const) {
      const fault = faultOf(quoteInput(reserved, { reserveOptions: [optionOf(mismatch)] }));
      expect(fault.reason).toBe('RESERVE_OPTION_NOT_FOUND');
    }
  });
});

describe('discount claim', () => {
  it('is refused one part per million above the entitlement', () => {
    expect(buildQuote(quoteInput({ discountPercentage: 12.5 }, entitled(125_000))).discount).toBe(125_000);
    expect(buildQuote(quoteInput({ discountPercentage: 12.4999 }, entitled(125_000))).discount).toBe(124_999);
    expect(faultOf(quoteInput({ discountPercentage: 12.5001 }, entitled(125_000))).reason).toBe(
      'DISCOUNT_NOT_ENTITLED',
    );
    expect(faultOf(quoteInput({ discountPercentage: 0.0001 })).reason).toBe('DISCOUNT_NOT_ENTITLED');
  });

  it('is not applied unless it is claimed', () => {
    expect(buildQuote(quoteInput({}, entitled(500_000))).discount).toBe(0);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, -1, 100.0001, 12.34567])(
    'of %d is invalid',
    (discountPercentage) => {
      const fault = faultOf(quoteInput({ discountPercentage }, entitled(1_000_000)));
      expect(fault.reason).toBe('VALIDATION_FAILED');
      expect(fault.issues).toEqual([
        {
          path: ['discountPercentage'],
          message: 'must be between 0 and 100 with at most four decimals',
          code: 'custom',
        },
      ]);
    },
  );

  it('requires an entitlement of the caller for this GPU at this time', () => {
    for (const wrong of [{ orgId: other }, { gpuType: 'h200' }, { validFrom: day(11) }]) {
      const input = quoteInput({ discountPercentage: 10 }, { entitlements: [entitlementOf(200_000, wrong)] });
      expect(faultOf(input).reason).toBe('DISCOUNT_NOT_ENTITLED');
    }
  });

  it('is not added to the discount of the term: the greater applies, and only the claim remains after the term', () => {
    const claim = (discountPercentage: number, grantedPpm: number) => {
      const { discount, term } = buildQuote(
        quoteInput({ ...reserved, gpuCount: 1, discountPercentage }, { ...rich, ...entitled(grantedPpm) }),
      );
      return [discount, term?.onDemandNanoUsdPerHour];
    };
    expect(claim(0, 0)).toEqual([200_000, '3980000001']);
    // A claim of the published discount changes nothing.
    expect(claim(20, 0)).toEqual([200_000, '3980000001']);
    expect(claim(10, 300_000)).toEqual([
      200_000,
      String(applyDiscount(nanoUsd(3_980_000_001n), ppm(100_000))),
    ]);
    expect(claim(30, 300_000)).toEqual([
      300_000,
      String(applyDiscount(nanoUsd(3_980_000_001n), ppm(300_000))),
    ]);
    expect(claim(20, 50_000)).toEqual([200_000, String(applyDiscount(nanoUsd(3_980_000_001n), ppm(50_000)))]);
    expect(() => claim(20.0001, 200_000)).toThrow(Fault);
    expect(() => claim(30.0001, 300_000)).toThrow(Fault);
  });

  it('is rounded up once, on the whole line', () => {
    expect(applyDiscount(nanoUsd(10n), ppm(0))).toBe(10n);
    expect(applyDiscount(nanoUsd(10n), ppm(50_000))).toBe(10n);
    expect(applyDiscount(nanoUsd(10n), ppm(100_000))).toBe(9n);
    expect(applyDiscount(nanoUsd(10n), ppm(999_999))).toBe(1n);
    expect(applyDiscount(nanoUsd(10n), ppm(1_000_000))).toBe(0n);
  });
});

describe('quote in test mode', () => {
  it('is free with or without prices', () => {
    const quoted = buildQuote(
      quoteInput({ storageSizeInGb: 256, durationSeconds: 3_600 }, { mode: 'test', prices: [] }),
    );
    expect(quoted).toMatchObject({ perHour: 0n, hold: 0n, total: 0n, affordable: true, runwaySeconds: null });
    expect(quoted.frozen.rental).toMatchObject({ rateNanoUsdPerHour: '0', priceIds: [] });
    expect(quoted.frozen.volume).toMatchObject({ rateNanoUsdPerHour: '0', priceIds: [] });
    expect(buildQuote(quoteInput({}, { mode: 'test' })).perHour).toBe(0n);
  });

  it('refuses the same claims and terms as in live mode', () => {
    const mode = 'test' as const;
    expect(faultOf(quoteInput({ discountPercentage: 1 }, { mode })).reason).toBe('DISCOUNT_NOT_ENTITLED');
    expect(faultOf(quoteInput({ ...reserved, termPeriodDays: 7 }, { mode })).reason).toBe(
      'RESERVE_OPTION_NOT_FOUND',
    );
    expect(buildQuote(quoteInput(reserved, { mode })).term).toMatchObject({ committedNanoUsd: '0' });
  });
});

describe('validity of a quote', () => {
  const until = (fields: Partial<QuoteInput>): number =>
    buildQuote(quoteInput({}, fields)).validUntil.getTime() - day(10).getTime();
  const after = (ms: number): Date => new Date(day(10).getTime() + ms);

  it('ends after 15 minutes or at the next change of a price or entitlement', () => {
    expect(QUOTE_VALID_MS).toBe(900_000);
    expect(until({})).toBe(900_000);
    expect(until({ prices: [list, priceOf(h100, 1n, { validFrom: after(1_000) })] })).toBe(1_000);
    expect(until({ prices: [list, priceOf(h100, 1n, { validFrom: after(900_001) })] })).toBe(900_000);
    expect(until({ entitlements: [entitlementOf(1, { validUntil: after(2_000) })] })).toBe(2_000);
  });
});

describe('freezeStoragePrice', () => {
  it('multiplies by size: volumes as product volume, released disks as product rental', () => {
    const disk = priceOf({ kind: 'disk', region: null }, 11n);
    const context = quoteInput({}, { prices: [list, volume, disk] });
    const frozen = freezeStoragePrice(context, { kind: 'disk', region: 'eu-west-1' }, 100);
    expect(frozen).toMatchObject({ product: 'rental', rateNanoUsdPerHour: '1100', priceIds: [disk.id] });
    expect(freezeStoragePrice(context, { kind: 'volume', region: 'eu-west-1' }, 2)).toMatchObject({
      product: 'volume',
      rateNanoUsdPerHour: '274000',
      quantity: 2,
    });
    expect(initialHold(frozen, 60_000)).toBe(19n);
  });

  it('is shown beside a quote: zero without a price, null if the rental cannot be released', () => {
    const disk = priceOf({ kind: 'disk', region: null }, 11n);
    const price = freezeStoragePrice(
      quoteInput({}, { prices: [disk] }),
      { kind: 'disk', region: 'eu-west-1' },
      100,
    );
    const released = (facts: Parameters<typeof toWireQuote>[1]['disk']) =>
      toWireQuote(buildQuote(quoteInput()), { available: true, idleRules: true, disk: facts }).released;
    expect(released({ sizeGb: 100, price, livePrice: null })).toEqual({
      diskGb: 100,
      costPerHourNanoUsd: '1100',
    });
    expect(released({ sizeGb: 100, price: null, livePrice: null })).toEqual({
      diskGb: 100,
      costPerHourNanoUsd: '0',
    });
    expect(released(null)).toBeNull();
  });
});

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
