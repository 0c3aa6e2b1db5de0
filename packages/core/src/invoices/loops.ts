import { defineLoop } from '@millrace/platform/loops';

/** The timeout is long because summing a large organisation takes a while. */
export const makeInvoicesLoop = defineLoop({
  name: 'make invoices',
  over: 'organisations',
  timeoutMs: 10 * 60_000,
  atOnce: 4,
  firstRetryMs: 60_000,
  maxRetryMs: 6 * 3_600_000,
});
