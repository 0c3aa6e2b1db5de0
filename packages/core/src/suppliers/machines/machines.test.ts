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

describe('why a machine is not shown', () => {
  it.each<[Partial<SupplierMachine>, RegExp]>([
    [{ stage: 'withdrawn' }, /withdrawn/],
    [{ stage: 'testing' }, /tests/],
    [{ supplierStatus: 'suspended' }, /suspended/],
    [{ isOrganisationActive: false }, /organisation is suspended/],
    [{ approval: 'pending' }, /not approved it yet/],
    [{ approval: 'rejected' }, /refused/],
    [{ listed: false, pricePerGpuHour: null }, /no price/],
    [{ listed: false }, /does not list/],
  ])('%j is said in words', (fields, words) => {
    expect(reasonNotForRent({ ...machine, ...fields })).toMatch(words);
  });

  it('is nothing where all agree to it', () => {
    expect(reasonNotForRent(machine)).toBeNull();
  });
});

describe('the price of the operator’s own machines', () => {
  it.each<[unknown, bigint | null]>([
    [{ pricePerGpuHourUsd: 1.25 }, 1_250_000_000n],
    [{ pricePerGpuHourUsd: 0 }, 0n],
    [{ pricePerGpuHourUsd: 0.000000001 }, 1n],
    [{ pricePerGpuHourUsd: -1 }, null],
    [{ pricePerGpuHourUsd: '1.25' }, null],
    [{ pricePerGpuHourUsd: 1e30 }, null],
    [{}, null],
    [null, null],
  ])('in %j', (settings, price) => {
    expect(priceFromSettings(settings)).toBe(price);
  });
});

describe('the price of a supplier’s machine', () => {
  const { least, most } = defaultPriceRules;
  it.each([
    [least, true],
    [most, true],
    [nanoUsd(least - 1n), false],
    [nanoUsd(most + 1n), false],
  ])('%d nano-USD is within the rules: %s', (price, isFine) => {
    expect(problemWithPrice(price, defaultPriceRules) === null).toBe(isFine);
  });
});

describe('the price that is paid', () => {
  type Step = readonly [atSeconds: number, price: bigint, listed?: boolean];

  /** What somebody pays who rents at an instant, after a supplier made these changes to what it asked: 1, and listed. */
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
    ['a raise does not count for a minute', [[100, 9n]], 159, 1n],
    ['and counts then', [[100, 9n]], 160, 9n],
    [
      'a cut counts at once',
      [
        [100, 9n],
        [200, 5n],
      ],
      200,
      5n,
    ],
    [
      'of two raises in a row neither counts',
      [
        [100, 5n],
        [101, 9n],
      ],
      102,
      1n,
    ],
    [
      'and the second begins the minute anew',
      [
        [100, 5n],
        [159, 9n],
      ],
      218,
      1n,
    ],
    [
      'a raise long after another is held to the other',
      [
        [100, 5n],
        [200, 9n],
      ],
      259,
      5n,
    ],
    [
      'a cut in the minute after a raise does not end it',
      [
        [100, 9n],
        [110, 5n],
      ],
      159,
      1n,
    ],
    [
      'nor make it longer',
      [
        [100, 9n],
        [110, 5n],
      ],
      160,
      5n,
    ],
    [
      'a cut and a raise at once are a raise from the cut',
      [
        [100, 9n],
        [200, 5n],
        [201, 9n],
      ],
      260,
      5n,
    ],
    [
      'off the list, dearer, and back on it',
      [
        [100, 1n, false],
        [101, 9n, false],
        [102, 9n],
      ],
      159,
      1n,
    ],
    [
      'off the list and dearer in one, and back',
      [
        [100, 9n, false],
        [101, 9n],
      ],
      159,
      1n,
    ],
    [
      'off and on again long after is a new price',
      [
        [100, 1n, false],
        [101, 9n, false],
        [161, 9n],
      ],
      161,
      9n,
    ],
    [
      'dearer, off and on',
      [
        [100, 9n],
        [110, 9n, false],
        [111, 9n],
      ],
      169,
      1n,
    ],
    [
      'what was asked while nobody saw it',
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

  it('is never more than anything that was shown in the minute before, whatever a supplier does', () => {
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
