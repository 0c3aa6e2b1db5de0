import { defineLoop } from '@millrace/platform/loops';

/** The claim sets the time of the next check with backoff, so the loop adds no wait. */
export const checkPaymentsLoop = defineLoop({
  name: 'ask about undecided payments',
  over: 'organisations',
  atOnce: 1,
  firstRetryMs: 1,
  maxRetryMs: 1,
});
