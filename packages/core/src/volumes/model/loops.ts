import { defineLoop } from '@millrace/platform/loops';

export const freezeVolumesLoop = defineLoop({
  name: 'freeze unpaid volumes',
  over: 'organisations',
  maxRetryMs: 5 * 60_000,
});
/** One check of a storage node, within the time of its claim. The policy says how often. */
export const checkNodesLoop = defineLoop({
  name: 'look at storage nodes',
  over: 'storage nodes',
  timeoutMs: 5 * 60_000,
  atOnce: 64,
  firstRetryMs: 1,
  maxRetryMs: 1,
});
export const removeLeftoversLoop = defineLoop({
  name: 'remove leftover volumes',
  over: 'storage nodes',
  timeoutMs: 150_000,
  atOnce: 16,
  firstRetryMs: 30_000,
});
/** One round of one volume. The round records its own failures and schedules the next with a growing wait. */
export const reconcileVolumesLoop = defineLoop({
  name: 'bring volumes about',
  over: 'storage nodes',
  timeoutMs: 10 * 60_000,
  atOnce: 64,
  firstRetryMs: 1,
  maxRetryMs: 1,
});
