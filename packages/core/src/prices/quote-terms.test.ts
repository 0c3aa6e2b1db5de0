import { Fault } from '@millrace/platform/fault';
import { nanoUsd, ppm } from '@millrace/platform/money';
import { describe, expect, it } from 'vitest';
import {
  day,
  entitlementOf,
  quoteInput,
  optionOf,
  other,
  faultOf,
  entitled,
  reserved,
  rich,
} from './prices.fixture.ts';
import { applyDiscount, buildQuote } from './quote.ts';

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
