import { nanoUsd } from '@millrace/platform/money';
import { describe, expect, it } from 'vitest';
import {
  acme,
  day,
  entitlementOf,
  h100,
  quoteInput,
  list,
  other,
  priceOf,
  volume,
  faultOf,
  entitled,
  reserved,
} from './prices.fixture.ts';
import { toWireQuote } from './prices.wire.ts';
import { freezeStoragePrice, initialHold, buildQuote, QUOTE_VALID_MS, type QuoteInput } from './quote.ts';

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
          description: '8 × H100 in us-central-1 (virtual machine, Ethernet)',
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
