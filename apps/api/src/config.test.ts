import { ConfigError } from '@millrace/platform/config';
import { expect, it } from 'vitest';
import { loadApiConfig } from './config.ts';

const needed = {
  MILLRACE_POSTGRES_URL: 'postgres://u:p@127.0.0.1:5432/d',
  MILLRACE_VALKEY_URL: 'redis://127.0.0.1:6379',
  MILLRACE_NATS_URLS: 'nats://127.0.0.1:4222',
  MILLRACE_KEY_FEED_KEYS: `feed:${Buffer.alloc(32, 8).toString('base64')}`,
  MILLRACE_SEALING_KEYS: `k:${Buffer.alloc(32).toString('base64')}`,
  MILLRACE_SEALING_KEY_ACTIVE: 'k',
};
const least = 'MILLRACE_MARKETPLACE_LEAST_USD_PER_GPU_HOUR';
const most = 'MILLRACE_MARKETPLACE_MOST_USD_PER_GPU_HOUR';
const fee = 'MILLRACE_MARKETPLACE_FEE_PERCENTAGE';
const rulesOf = (set: Record<string, string>) => loadApiConfig({ ...needed, ...set }).marketplacePrices;

it('marketplace price limits are exact to the nano and default to a cent and a thousand dollars', () => {
  expect(rulesOf({})).toMatchObject({ least: 10_000_000n, most: 1_000_000_000_000n });
  expect(rulesOf({ [least]: '0.000000001', [most]: '20' })).toMatchObject({
    least: 1n,
    most: 20_000_000_000n,
  });
});

it('the usual fee of suppliers is a percentage, and not announced by default', () => {
  expect(rulesOf({}).feePercentage).toBeNull();
  expect(rulesOf({ [fee]: '12.5' }).feePercentage).toBe(12.5);
  expect(rulesOf({ [fee]: '0' }).feePercentage).toBe(0);
});

it.each([
  [{ [fee]: '101' }, fee],
  [{ [fee]: '1.00001' }, fee],
  [{ [least]: '0' }, least],
  [{ [least]: '-1' }, least],
  [{ [most]: 'much' }, most],
  [{ [most]: '0.0000000001' }, most],
  [{ [least]: '3', [most]: '2' }, least],
])('marketplace price limits name the wrong setting in %j', (set, named) => {
  expect(() => rulesOf(set)).toThrow(ConfigError);
  expect(() => rulesOf(set)).toThrow(named);
});
