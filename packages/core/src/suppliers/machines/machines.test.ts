import { nanoUsd } from '@millrace/platform/money';
import { testIds } from '@millrace/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  defaultPriceRules,
  priceFromSettings,
  rentalPrice,
  problemWithPrice,
  nextRecentPrice,
  reasonNotForRent,
  type SupplierMachine,
} from './machines.ts';

const machine: SupplierMachine = {
  id: testIds.next('enr'),
  nodeId: testIds.next('nod'),
  clusterId: testIds.next('cls'),
  supplierId: testIds.next('sup'),
  orgId: testIds.next('org'),
  name: 'host',
  clusterName: 'c1',
  region: 'us-central-1',
  stage: 'enrolled',
  approval: 'approved',
  approvalReason: null,
  listed: true,
  drainedAt: null,
  pricePerGpuHour: nanoUsd(1n),
  recentPrice: null,
  joinedAt: new Date(0),
  supplierStatus: 'approved',
  isOrganisationActive: true,
};

describe('reasonNotForRent', () => {
  it.each<[Partial<SupplierMachine>, RegExp]>([
    [{ stage: 'withdrawn' }, /withdrawn/],
    [{ stage: 'testing' }, /tests/],
    [{ supplierStatus: 'suspended' }, /suspended/],
    [{ isOrganisationActive: false }, /organisation is suspended/],
    [{ approval: 'pending' }, /not approved the machine yet/],
    [{ approval: 'rejected' }, /refused/],
    [{ listed: false, pricePerGpuHour: null }, /no price/],
    [{ listed: false }, /does not list/],
  ])('returns a sentence for %j', (fields, words) => {
    expect(reasonNotForRent({ ...machine, ...fields })).toMatch(words);
  });

  it('returns null if the machine is for rent', () => {
    expect(reasonNotForRent(machine)).toBeNull();
  });
});

describe('priceFromSettings', () => {
  it.each<[unknown, bigint | null]>([
    [{ pricePerGpuHourUsd: 1.25 }, 1_250_000_000n],
    [{ pricePerGpuHourUsd: 0 }, 0n],
    [{ pricePerGpuHourUsd: 0.000000001 }, 1n],
    [{ pricePerGpuHourUsd: -1 }, null],
    [{ pricePerGpuHourUsd: '1.25' }, null],
    [{ pricePerGpuHourUsd: 1e30 }, null],
    [{}, null],
    [null, null],
  ])('reads %j', (settings, price) => {
    expect(priceFromSettings(settings)).toBe(price);
  });
});

describe('problemWithPrice', () => {
  const { least, most } = defaultPriceRules;
  it.each([
    [least, true],
    [most, true],
    [nanoUsd(least - 1n), false],
    [nanoUsd(most + 1n), false],
  ])('accepts %d nano-USD: %s', (price, isFine) => {
    expect(problemWithPrice(price, defaultPriceRules) === null).toBe(isFine);
  });
});

describe('rentalPrice after nextRecentPrice', () => {
  type Step = readonly [atSeconds: number, price: bigint, listed?: boolean];

  /** The price of a rental at an instant, after these changes to a machine that was listed at 1. */
  function paidAt(seconds: number, steps: readonly Step[]): bigint {
    let offer: Pick<SupplierMachine, 'listed' | 'pricePerGpuHour' | 'recentPrice'> = machine;
    for (const [at, price, listed = true] of steps) {
      const after = { listed, pricePerGpuHour: nanoUsd(price) };
      offer = { ...after, recentPrice: nextRecentPrice(offer, after, new Date(at * 1000)) };
    }
    return rentalPrice(
      offer.pricePerGpuHour ?? expect.fail('no price'),
      offer.recentPrice,
      new Date(seconds * 1000),
    );
  }

  it.each<[string, readonly Step[], number, bigint]>([
    ['ignores a raise for a minute', [[100, 9n]], 159, 1n],
    ['applies a raise after a minute', [[100, 9n]], 160, 9n],
    [
      'applies a cut at once',
      [
        [100, 9n],
        [200, 5n],
      ],
      200,
      5n,
    ],
    [
      'ignores two consecutive raises for a minute',
      [
        [100, 5n],
        [101, 9n],
      ],
      102,
      1n,
    ],
    [
      'restarts the minute with a second raise',
      [
        [100, 5n],
        [159, 9n],
      ],
      218,
      1n,
    ],
    [
      'after a later raise uses the price of the first raise',
      [
        [100, 5n],
        [200, 9n],
      ],
      259,
      5n,
    ],
    [
      'keeps the minute of a raise after a cut',
      [
        [100, 9n],
        [110, 5n],
      ],
      159,
      1n,
    ],
    [
      'does not extend the minute of a raise by a cut',
      [
        [100, 9n],
        [110, 5n],
      ],
      160,
      5n,
    ],
    [
      'after a cut and a raise uses the price of the cut',
      [
        [100, 9n],
        [200, 5n],
        [201, 9n],
      ],
      260,
      5n,
    ],
    [
      'keeps the old price through unlisting, raise and relisting',
      [
        [100, 1n, false],
        [101, 9n, false],
        [102, 9n],
      ],
      159,
      1n,
    ],
    [
      'keeps the old price through one change that unlists and raises, and relisting',
      [
        [100, 9n, false],
        [101, 9n],
      ],
      159,
      1n,
    ],
    [
      'uses the new price when relisted after a minute',
      [
        [100, 1n, false],
        [101, 9n, false],
        [161, 9n],
      ],
      161,
      9n,
    ],
    [
      'keeps the old price through raise, unlisting and relisting',
      [
        [100, 9n],
        [110, 9n, false],
        [111, 9n],
      ],
      169,
      1n,
    ],
    [
      'ignores prices that were set while unlisted',
      [
        [100, 2n, false],
        [200, 1n, false],
        [201, 9n, false],
        [202, 9n],
      ],
      202,
      9n,
    ],
  ])('%s', (_what, steps, at, paid) => {
    expect(paidAt(at, steps)).toBe(paid);
  });

  it('is never higher than any price listed in the last minute, for any sequence of changes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.bigInt(1n, 6n), fc.boolean()), {
          maxLength: 12,
        }),
        fc.integer({ min: 0, max: 80 }),
        (changes, laterSeconds) => {
          let at = 1000;
          const steps = changes.map(([wait, price, listed]): Step => [(at += wait), price, listed]);
          const now = at + laterSeconds;
          const shown = [[0, 1n, true] as Step, ...steps].flatMap(([, price, listed], nth) =>
            listed === true && (steps[nth]?.[0] ?? Infinity) > now - 60 ? [price] : [],
          );
          const latest = steps.at(-1)?.[1] ?? 1n;
          const paid = paidAt(now, steps);
          for (const price of [latest, ...shown]) expect(paid <= price).toBe(true);
        },
      ),
    );
  });
});
