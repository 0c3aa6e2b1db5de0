import { defineLoop } from '@millrace/platform/loops';

/** Items are keys, organisations and models. A revoked key must not wait behind a failing item. */
export const writeKeyFeed = defineLoop({
  name: 'write the gateway book',
  over: 'organisations',
  timeoutMs: 30_000,
  atOnce: 16,
  firstRetryMs: 1_000,
  maxRetryMs: 60_000,
});
/** A probe has its own time-out; the next round probes the deployment again. */
export const probeDeployments = defineLoop({
  name: 'watch deployments',
  over: 'deployments',
  timeoutMs: 60_000,
  atOnce: 16,
  firstRetryMs: 1,
  maxRetryMs: 60_000,
});
/** Items are the deferred usage of one lease. Tenants see their requests only after it is charged. */
export const chargeDeferredUsage = defineLoop({
  name: 'charge deferred usage',
  over: 'organisations',
  timeoutMs: 60_000,
  atOnce: 4,
  firstRetryMs: 1_000,
  maxRetryMs: 60_000,
});
