import { defineLoop } from '@millrace/platform/loops';

/** A key, an organisation or a model whose entry changed. Keys that were revoked must not wait behind what fails. */
export const writeKeyFeed = defineLoop({
  name: 'write the gateway book',
  over: 'organisations',
  timeoutMs: 30_000,
  atOnce: 16,
  firstRetryMs: 1_000,
  maxRetryMs: 60_000,
});
/** A probe has a time-out of its own; a deployment is looked at again in the next round. */
export const probeDeployments = defineLoop({
  name: 'watch deployments',
  over: 'deployments',
  timeoutMs: 60_000,
  atOnce: 16,
  firstRetryMs: 1,
  maxRetryMs: 60_000,
});
/** Deferred usage of one lease: a few time-outs of the database at most. Tenants see the requests after it. */
export const chargeDeferredUsage = defineLoop({
  name: 'charge deferred usage',
  over: 'organisations',
  timeoutMs: 60_000,
  atOnce: 4,
  firstRetryMs: 1_000,
  maxRetryMs: 60_000,
});
