import { describe, expect, it } from 'vitest';
import { livePriceLookup } from './live-price.ts';
import { acme, day, h100, list, other, priceOf, volume } from './prices.fixture.ts';

const item = {
  gpuType: 'h100',
  machineType: 'virtual-machine',
  region: 'mock-region',
  networkType: 'ethernet',
} as const;
const three = { quantity: 3, discountPpm: 0 };

describe('livePriceLookup', () => {
  it('prices a test machine by a price for all regions', () => {
    const prices = livePriceLookup([list, volume], acme, day(1));
    expect(prices.machine(item, three)).toBe(11_940_000_003n);
    expect(prices.storage({ kind: 'volume', region: 'mock-region' }, 256)).toBe(35_072_000n);
  });

  it('rounds the discounted price up, like the sale itself', () => {
    const prices = livePriceLookup([list], acme, day(1));
    expect(prices.machine(item, { quantity: 1, discountPpm: 200_000 })).toBe(3_184_000_001n);
  });

  it('uses the contract price of the organisation and no other', () => {
    const contract = priceOf(h100, 1_000_000_000n, { orgId: acme });
    expect(livePriceLookup([list, contract], acme, day(1)).machine(item, three)).toBe(3_000_000_000n);
    expect(livePriceLookup([list, contract], other, day(1)).machine(item, three)).toBe(11_940_000_003n);
  });

  it('is null without a price that covers the region and type', () => {
    const regional = priceOf({ ...h100, region: 'us-central-1' }, 1n);
    const prices = livePriceLookup([regional], acme, day(1));
    expect(prices.machine(item, three)).toBeNull();
    expect(prices.machine({ ...item, region: 'us-central-1' }, three)).toBe(3n);
    expect(prices.storage({ kind: 'disk', region: 'mock-region' }, 10)).toBeNull();
  });
});
