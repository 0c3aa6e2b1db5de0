import { ppm } from '@millrace/platform/money';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { acme, day, entitlementOf, h100, optionOf, other, priceOf } from './prices.fixture.ts';
import type { Price, PriceSubject } from './prices.ts';
import {
  entitledDiscount,
  nextChange,
  resolvePrice,
  resolveReserveOption,
  type PricedItem,
} from './resolve-price.ts';

const wanted = {
  kind: 'gpu',
  gpuType: 'h100',
  machineType: 'virtual-machine',
  region: 'us-central-1',
  networkType: 'ethernet',
} as const satisfies PricedItem;

const inRegion = { ...h100, region: 'us-central-1' };
const onNetwork = { ...h100, networkType: 'ethernet' } as const;
const exact = { ...inRegion, networkType: 'ethernet' } as const;

/** The price for acme on day 10, which must not depend on the order of the prices. */
function winner(prices: readonly Price[], item: PricedItem = wanted, at = day(10)): Price | null {
  const found = resolvePrice(prices, acme, item, at);
  expect(resolvePrice(prices.toReversed(), acme, item, at)).toBe(found);
  return found;
}

describe('resolvePrice', () => {
  it('is null without prices', () => {
    expect(winner([])).toBeNull();
  });

  it('prefers the contract, then the region, then the network', () => {
    const ranked = [
      priceOf(h100, 1n),
      priceOf(onNetwork, 2n),
      priceOf(inRegion, 3n),
      priceOf(exact, 4n),
      priceOf(h100, 5n, { orgId: acme }),
      priceOf(onNetwork, 6n, { orgId: acme }),
      priceOf(inRegion, 7n, { orgId: acme }),
      priceOf(exact, 8n, { orgId: acme }),
    ];
    for (let length = 1; length <= ranked.length; length++) {
      expect(winner(ranked.slice(0, length))).toBe(ranked[length - 1]);
    }
  });

  it('prefers a specific price over a general one that started later', () => {
    const specific = priceOf(inRegion, 3n, { validFrom: day(1) });
    expect(winner([specific, priceOf(h100, 1n, { validFrom: day(9) })])).toBe(specific);
  });

  it('never uses the contract of another organisation', () => {
    const list = priceOf(h100, 1n);
    expect(winner([list, priceOf(exact, 2n, { orgId: other })])).toBe(list);
    expect(winner([priceOf(h100, 2n, { orgId: other })])).toBeNull();
  });

  it.each<[string, PriceSubject]>([
    ['another GPU', { ...h100, gpuType: 'h200' }],
    ['another machine', { ...h100, machineType: 'bare-metal' }],
    ['another region', { ...h100, region: 'eu-west-1' }],
    ['another network', { ...h100, networkType: 'infiniband' }],
    ['a volume', { kind: 'volume', region: null }],
    ['a model', { kind: 'model', model: 'h100', unit: 'image' }],
  ])('never uses the price of %s', (_, subject) => {
    expect(winner([priceOf(subject, 1n)])).toBeNull();
  });

  it('uses the version that started last, and no future one', () => {
    const first = priceOf(h100, 1n, { validFrom: day(1) });
    const second = priceOf(h100, 2n, { validFrom: day(5) });
    const future = priceOf(h100, 3n, { validFrom: day(11) });
    const prices = [first, second, future];
    expect(winner(prices, wanted, day(0))).toBeNull();
    expect(winner(prices, wanted, new Date(day(1).getTime() - 1))).toBeNull();
    expect(winner(prices, wanted, day(1))).toBe(first);
    expect(winner(prices, wanted, new Date(day(5).getTime() - 1))).toBe(first);
    expect(winner(prices, wanted, day(5))).toBe(second);
    expect(winner(prices, wanted, day(11))).toBe(future);
  });

  it('excludes the end instant, and then falls back to an older or more general price', () => {
    const older = priceOf(inRegion, 1n, { validFrom: day(1), validUntil: day(9) });
    const newer = priceOf(inRegion, 2n, { validFrom: day(5), validUntil: day(8) });
    const general = priceOf(h100, 3n);
    const prices = [older, newer, general];
    expect(winner(prices, wanted, new Date(day(8).getTime() - 1))).toBe(newer);
    expect(winner(prices, wanted, day(8))).toBe(older);
    expect(winner(prices, wanted, day(9))).toBe(general);
  });

  it('never uses a price that ended before it started', () => {
    expect(winner([priceOf(h100, 1n, { validFrom: day(5), validUntil: day(5) })], wanted, day(5))).toBeNull();
  });

  it('uses the price created last if several started together', () => {
    const late = priceOf(h100, 1n, { createdAt: day(3) });
    const early = priceOf(h100, 2n, { createdAt: day(2) });
    expect(winner([late, early])).toBe(late);
    const [one, two] = [priceOf(h100, 1n), priceOf(h100, 2n)];
    expect(winner([one, two])).toBe(one.id > two.id ? one : two);
  });

  it('distinguishes storage by kind and region', () => {
    const everywhere = priceOf({ kind: 'volume', region: null }, 1n);
    const here = priceOf({ kind: 'volume', region: 'us-central-1' }, 2n);
    const disk = priceOf({ kind: 'disk', region: null }, 3n);
    const prices = [everywhere, here, disk, priceOf(h100, 9n)];
    expect(winner(prices, { kind: 'volume', region: 'us-central-1' })).toBe(here);
    expect(winner(prices, { kind: 'volume', region: 'eu-west-1' })).toBe(everywhere);
    expect(winner(prices, { kind: 'disk', region: 'us-central-1' })).toBe(disk);
    expect(winner([here], { kind: 'volume', region: 'eu-west-1' })).toBeNull();
    expect(winner([everywhere], { kind: 'disk', region: 'eu-west-1' })).toBeNull();
  });

  it('distinguishes models by name and unit', () => {
    const prompt = priceOf({ kind: 'model', model: 'm', unit: 'prompt_token' }, 1n, { unit: 'token' });
    const image = priceOf({ kind: 'model', model: 'm', unit: 'image' }, 2n, { unit: 'image' });
    const contract = { ...prompt, id: image.id, orgId: acme };
    const prices = [prompt, image];
    expect(winner(prices, { kind: 'model', model: 'm', unit: 'prompt_token' })).toBe(prompt);
    expect(winner(prices, { kind: 'model', model: 'm', unit: 'image' })).toBe(image);
    expect(winner(prices, { kind: 'model', model: 'm', unit: 'character' })).toBeNull();
    expect(winner(prices, { kind: 'model', model: 'n', unit: 'image' })).toBeNull();
    expect(winner([prompt, contract], { kind: 'model', model: 'm', unit: 'prompt_token' })).toBe(contract);
  });

  it('agrees with sorting all applicable prices, for any prices in any order', () => {
    const anyPrice = fc
      .record({
        region: fc.constantFrom(null, 'us-central-1', 'eu-west-1'),
        networkType: fc.constantFrom(null, 'ethernet', 'infiniband'),
        gpuType: fc.constantFrom('h100', 'h200'),
        orgId: fc.constantFrom(null, acme, other),
        from: fc.integer({ min: 0, max: 20 }),
        until: fc.option(fc.integer({ min: 0, max: 20 })),
        written: fc.integer({ min: 0, max: 3 }),
      })
      .map(({ region, networkType, gpuType, orgId, from, until, written }) =>
        priceOf({ ...h100, region, networkType, gpuType } as PriceSubject, 1n, {
          orgId,
          validFrom: day(from),
          validUntil: until === null ? null : day(Math.max(from, until)),
          createdAt: day(written),
        }),
      );
    fc.assert(
      fc.property(fc.array(anyPrice, { maxLength: 30 }), fc.integer({ min: 0, max: 20 }), (prices, at) => {
        expect(resolvePrice(prices, acme, wanted, day(at))).toBe(bySorting(prices, day(at)));
      }),
      { numRuns: 500 },
    );
  });
});

/** A naive implementation of the rule: one sortable text. */
function bySorting(prices: readonly Price[], at: Date): Price | null {
  const key = (price: Price): string => {
    const { region, networkType } = price.subject as typeof h100;
    const flags = [price.orgId, region, networkType].map((part) => (part === null ? '0' : '1'));
    return [...flags, price.validFrom.toISOString(), price.createdAt.toISOString(), price.id].join(' ');
  };
  const applies = prices.filter((price) => {
    const subject = price.subject as typeof h100;
    return (
      subject.gpuType === 'h100' &&
      [null, 'us-central-1'].includes(subject.region) &&
      [null, 'ethernet'].includes(subject.networkType) &&
      [null, acme].includes(price.orgId) &&
      price.validFrom.getTime() <= at.getTime() &&
      (price.validUntil?.getTime() ?? Number.POSITIVE_INFINITY) > at.getTime()
    );
  });
  return applies.toSorted((a, b) => (key(a) < key(b) ? 1 : -1))[0] ?? null;
}

describe('resolveReserveOption', () => {
  const request = {
    machineType: 'virtual-machine',
    gpuType: 'h100',
    region: 'us-central-1',
    termPeriodDays: 30,
  } as const;

  it('requires the exact machine, GPU and term, in the region or in all regions', () => {
    const everywhere = optionOf();
    expect(resolveReserveOption([everywhere], request)).toBe(everywhere);
    expect(resolveReserveOption([], request)).toBeNull();
    expect(resolveReserveOption([optionOf({ machineType: 'bare-metal' })], request)).toBeNull();
    expect(resolveReserveOption([optionOf({ gpuType: 'h200' })], request)).toBeNull();
    expect(resolveReserveOption([optionOf({ termPeriodDays: 31 })], request)).toBeNull();
    expect(resolveReserveOption([optionOf({ region: 'eu-west-1' })], request)).toBeNull();
  });

  it('prefers an option for the region, then the newest', () => {
    const everywhere = optionOf({ createdAt: day(9) });
    const here = optionOf({ region: 'us-central-1', createdAt: day(1) });
    const hereLater = optionOf({ region: 'us-central-1', createdAt: day(2) });
    for (const order of [
      [everywhere, hereLater, here],
      [here, everywhere, hereLater],
    ]) {
      expect(resolveReserveOption(order, request)).toBe(hereLater);
    }
    const duplicate = { ...hereLater, id: optionOf().id };
    const later = duplicate.id > hereLater.id ? duplicate : hereLater;
    expect(resolveReserveOption([duplicate, hereLater], request)).toBe(later);
    expect(resolveReserveOption([hereLater, duplicate], request)).toBe(later);
  });
});

describe('entitledDiscount', () => {
  const at = day(10);
  const on = (...entitlements: Parameters<typeof entitlementOf>[]): number =>
    entitledDiscount(
      entitlements.map((fields) => entitlementOf(...fields)),
      acme,
      'h100',
      at,
    );

  it('is the greatest applicable discount, and zero without one', () => {
    expect(on()).toBe(0);
    expect(on([100_000], [250_000], [200_000])).toBe(ppm(250_000));
    expect(on([100_000, { gpuType: 'h100' }])).toBe(100_000);
  });

  it.each([
    ['of another organisation', { orgId: other }],
    ['on another GPU', { gpuType: 'h200' }],
    ['that has not started', { validFrom: new Date(at.getTime() + 1) }],
    ['that has ended', { validUntil: at }],
    ['that was revoked', { revokedAt: at }],
  ])('ignores an entitlement %s', (_, fields) => {
    expect(on([100_000, fields])).toBe(0);
  });

  it('includes the start and excludes the end and the revocation', () => {
    expect(on([1, { validFrom: at }])).toBe(1);
    expect(on([1, { validUntil: new Date(at.getTime() + 1) }])).toBe(1);
    expect(on([1, { revokedAt: new Date(at.getTime() + 1) }])).toBe(1);
  });
});

describe('nextChange', () => {
  it('is the first start or end after a time', () => {
    const versions = [
      { validFrom: day(1), validUntil: day(20) },
      { validFrom: day(12), validUntil: null },
      { validFrom: day(3), validUntil: day(15) },
    ];
    expect(nextChange(versions, day(0))).toEqual(day(1));
    expect(nextChange(versions, day(1))).toEqual(day(3));
    expect(nextChange(versions, day(3))).toEqual(day(12));
    expect(nextChange(versions, day(12))).toEqual(day(15));
    expect(nextChange(versions, day(15))).toEqual(day(20));
    expect(nextChange(versions, day(20))).toBeNull();
    expect(nextChange([], day(0))).toBeNull();
  });
});
