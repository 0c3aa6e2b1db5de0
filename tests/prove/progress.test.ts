import { expect, test } from 'vitest';
import { waitWhileProgress } from './progress.ts';

const soon = { stuckAfterMs: 1, intervalMs: 5 };

test('a wait continues while the remaining work changes', async () => {
  let left = 20;
  expect(await waitWhileProgress(soon, async () => ((left -= 1) === 0 ? null : String(left)))).not.toBeNull();
  expect(left).toBe(0);
});

test('a wait is given up when nothing changes any more', async () => {
  expect(await waitWhileProgress(soon, async () => 'three')).toBeNull();
});

test('a look that fails does not count as progress', async () => {
  expect(await waitWhileProgress(soon, () => Promise.reject(new Error('away')))).toBeNull();
});
