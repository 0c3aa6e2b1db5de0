import { expect, test } from 'vitest';
import { useIncusCluster } from './incus-cluster.ts';

test('useIncusCluster returns the same cluster to concurrent callers', async () => {
  const both = Promise.all([useIncusCluster(), useIncusCluster()]);
  if (process.getuid?.() !== 0) {
    await expect(both).rejects.toThrow(/needs root/u);
    return;
  }
  const [first, second] = await both;
  expect(first.members.map(({ name }) => name)).toEqual(['incus-1', 'incus-2', 'incus-3']);
  expect(second).toEqual(first);
});
