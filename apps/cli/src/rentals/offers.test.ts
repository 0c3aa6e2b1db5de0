import { expect, it } from 'vitest';
import { fakeApi, runCli } from '../fixture.ts';

const option = {
  ...{ gpuType: 'h100', gpuCount: 1, region: 'mock-region', machineType: 'virtual-machine' },
  ...{ gpuFormFactor: 'sxm5', connectionType: 'ethernet', costPerHour: 2, costPerHourCents: 200 },
  ...{ pricePerHourNanoUsd: '2000000000', totalAvailable: 1, enabled: true, nodes: [] },
};
const secret = 'ABCDEFGH2345_0123456789012345678901234567890123456789';

it.each(['live', 'test'])('offers name the mode of the key: %s', async (mode) => {
  const apiKey = `mr_${mode}_${secret}`;
  const api = (options: readonly unknown[]) =>
    fakeApi({ 'GET /v2/on-demand/rental-options': () => ({ items: options, nextCursor: null }) });
  const none = await runCli(['offers'], { ...api([]), apiKey });
  expect(`${none.stdout}${none.stderr}`).toContain(`No offers match in ${mode} mode now.`);
  const some = await runCli(['offers'], { ...api([option]), apiKey });
  expect(some.stdout).toContain('h100');
  expect(some.stderr.includes('Test mode: nothing is charged.')).toBe(mode === 'test');
});

it('offers show the price of live mode beside the free one', async () => {
  const free = { ...option, costPerHour: 0, pricePerHourNanoUsd: '0', livePricePerHourNanoUsd: '1990000000' };
  const api = fakeApi({ 'GET /v2/on-demand/rental-options': () => ({ items: [free], nextCursor: null }) });
  const { stdout } = await runCli(['offers'], { ...api, apiKey: `mr_test_${secret}` });
  expect(stdout).toMatch(/price +live\n/i);
  expect(stdout).toContain('$1.99/h');
});
