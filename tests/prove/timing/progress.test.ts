import { expect, test } from 'vitest';
import { waitWhileProgress } from './progress.ts';

const soon = { stuckAfterMs: 1, intervalMs: 5 };

test('waitWhileProgress waits as long as the remaining work changes', async () => {
  let left = 20;
  expect(await waitWhileProgress(soon, async () => ((left -= 1) === 0 ? null : String(left)))).not.toBeNull();
  expect(left).toBe(0);
});

test('waitWhileProgress returns null when the remaining work stops changing', async () => {
  expect(await waitWhileProgress(soon, async () => 'three')).toBeNull();
});

test('waitWhileProgress does not count an exception as progress', async () => {
  expect(await waitWhileProgress(soon, () => Promise.reject(new Error('away')))).toBeNull();
});
