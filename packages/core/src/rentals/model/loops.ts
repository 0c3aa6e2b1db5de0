import { defineLoop } from '@millrace/platform/loops';

/** An action is claimed for a while, and waits longer after each failure. */
export const requiredActionsLoop = defineLoop({
  name: 'carry out what balances require',
  over: 'organisations',
  maxRetryMs: 5 * 60_000,
});
/**
 * One round of one cluster: its machines are asked within the policy's time, then samples are kept. After its first failure a
 * cluster is asked again in the next round.
 */
export const sampleClustersLoop = defineLoop({
  name: 'sample machines',
  over: 'clusters',
  timeoutMs: 5 * 60_000,
  atOnce: 64,
  firstRetryMs: 30_000,
  maxRetryMs: 5 * 60_000,
});
/** Stores samples and idleness of rentals: one batch for many organisations. */
export const storeSamplesLoop = defineLoop({
  name: 'keep samples',
  over: 'organisations',
  firstRetryMs: 30_000,
  maxRetryMs: 5 * 60_000,
});
/** Each rule is one transaction of a few statements. */
export const idleRulesLoop = defineLoop({
  name: 'carry out idle rules',
  over: 'organisations',
  timeoutMs: 20_000,
  maxRetryMs: 5 * 60_000,
});
