import { nanoUsd } from '@millrace/platform/money';
import { testIds } from '@millrace/testing';
import { describe, expect, it } from 'vitest';
import {
  defaultPriceRules,
  priceOfSettings,
  problemWithPrice,
  whyNotShown,
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
    expect(whyNotShown({ ...machine, ...fields })).toMatch(words);
  });

  it('is nothing where all agree to it', () => {
    expect(whyNotShown(machine)).toBeNull();
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
    expect(priceOfSettings(settings)).toBe(price);
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
