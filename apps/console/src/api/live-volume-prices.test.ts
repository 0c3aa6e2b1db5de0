import type { Millrace } from '@millrace/sdk';
import { expect, it, vi } from 'vitest';
import { readLivePrices } from './live-volume-prices.ts';

const volume = (sizeInGb: number, region = 'us-central-1') => ({ region, sizeInGb });

/** Live price: one nano-USD per GB. Region `none` has no live price, and region `broken` fails. */
const quote = vi.fn(async ({ region, sizeInGb }: { readonly region: string; readonly sizeInGb: number }) => {
  if (region === 'broken') throw new Error('broken');
  return { costPerHourNanoUsd: '0', ...(region !== 'none' && { liveCostPerHourNanoUsd: String(sizeInGb) }) };
});
const client = { volumes: { quote } } as unknown as Pick<Millrace, 'volumes'>;
const { signal } = new AbortController();

it('readLivePrices asks once for each region and size', async () => {
  quote.mockClear();
  const priceOf = await readLivePrices(client, 'test', [volume(256), volume(512), volume(256)], signal);
  expect([priceOf(volume(256)), priceOf(volume(512))]).toEqual(['256', '512']);
  expect(quote).toHaveBeenCalledTimes(2);
});

it('readLivePrices leaves out prices that do not exist or cannot be read', async () => {
  const volumes = [volume(256, 'none'), volume(256, 'broken'), volume(256)];
  const priceOf = await readLivePrices(client, 'test', volumes, signal);
  expect(volumes.map(priceOf)).toEqual([undefined, undefined, '256']);
});

it('readLivePrices sends no request in live mode', async () => {
  quote.mockClear();
  const priceOf = await readLivePrices(client, 'live', [volume(256)], signal);
  expect(priceOf(volume(256))).toBeUndefined();
  expect(quote).not.toHaveBeenCalled();
});
