import { defineLoop } from '@millrace/platform/loops';

/** Renews the lease of one organisation at a gateway and reports its ends. */
export const maintainLeases = defineLoop({
  name: 'tend leases',
  over: 'organisations',
  timeoutMs: 30_000,
  atOnce: 256,
  firstRetryMs: 250,
  maxRetryMs: 5_000,
});
