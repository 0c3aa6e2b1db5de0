import { nanoUsd, ppm } from '@millrace/platform/money';
import { testIds } from '@millrace/testing';
import { expect, test } from 'vitest';
import type { GpuPriceLookup, ReserveOption } from '../../prices/index.ts';
import type { Pool } from './offers.ts';
import { listReserveOffers } from './reserve-offers.ts';

const option = (fields: Partial<ReserveOption> = {}): ReserveOption => ({
  id: testIds.next('rso'),
  machineType: 'virtual-machine',
  gpuType: 'h100',
  region: null,
  termPeriodDays: 30,
  discount: ppm(250_000),
  refund: ppm(500_000),
  createdAt: new Date(0),
  ...fields,
});
const pool = (fields: Partial<Pool> = {}): Pool => ({
  mode: 'live',
  machineType: 'virtual-machine',
  region: 'us-central-1',
  gpuType: 'h100',
  connectionType: 'ethernet',
  hardware: [],
  largestFabric: 0,
  rooms: [],
  fabrics: [],
  enabled: true,
  ...fields,
});
const prices: GpuPriceLookup = ({ region, gpuType }) =>
  gpuType === 'b200' ? null : nanoUsd(region === 'us-central-1' ? 4_000_000_000n : 3_000_000_001n);

test('a reserve offer costs the lowest price of its pools less the discount', () => {
  const [offer] = listReserveOffers([option()], [pool(), pool({ region: 'eu-west-1' })], prices);
  expect(offer).toMatchObject({ originalPerHour: 3_000_000_001n, perHour: 2_250_000_001n, enabled: true });
});

test('a regional option replaces the general one in its region only', () => {
  const everywhere = option();
  const here = option({ region: 'eu-west-1', discount: ppm(500_000) });
  const pools = [pool(), pool({ region: 'eu-west-1', enabled: false })];
  const offers = listReserveOffers([everywhere, here], pools, prices);
  expect(offers.map((offer) => [offer.option.id, offer.originalPerHour, offer.enabled])).toEqual([
    [here.id, 3_000_000_001n, false],
    [everywhere.id, 4_000_000_000n, true],
  ]);
  expect(listReserveOffers([everywhere, here], [pool({ region: 'eu-west-1' })], prices)).toHaveLength(1);
});

test('options for machines that the fleet does not have, or without a price, are not listed', () => {
  const options = [option({ gpuType: 'b200' }), option({ gpuType: 'h200' }), option({ region: 'jp-east-1' })];
  expect(listReserveOffers(options, [pool(), pool({ gpuType: 'b200' })], prices)).toEqual([]);
});
