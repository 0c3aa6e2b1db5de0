import { defineLoop } from '@millrace/platform/loops';

export const requiredActionsLoop = defineLoop({
  name: 'carry out what balances require',
  over: 'organisations',
  maxRetryMs: 5 * 60_000,
});
/** One item is one cluster. After its first failure a cluster is retried in the next run. */
export const sampleClustersLoop = defineLoop({
  name: 'sample machines',
  over: 'clusters',
  timeoutMs: 5 * 60_000,
  atOnce: 64,
  firstRetryMs: 30_000,
  maxRetryMs: 5 * 60_000,
});
export const storeSamplesLoop = defineLoop({
  name: 'keep samples',
  over: 'organisations',
  firstRetryMs: 30_000,
  maxRetryMs: 5 * 60_000,
});
export const idleRulesLoop = defineLoop({
  name: 'carry out idle rules',
  over: 'organisations',
  timeoutMs: 20_000,
  maxRetryMs: 5 * 60_000,
});
