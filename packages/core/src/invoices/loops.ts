import { defineLoop } from '@millrace/platform/loops';

/** An organisation's invoice of one month. Sums of a large organisation take a while. */
export const makeInvoicesLoop = defineLoop({
  name: 'make invoices',
  over: 'organisations',
  timeoutMs: 10 * 60_000,
  atOnce: 4,
  firstRetryMs: 60_000,
  maxRetryMs: 6 * 3_600_000,
});
