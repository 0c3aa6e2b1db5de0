import { defineLoop } from '@millrace/platform/loops';

/** The claim sets the time of a payment's next check, which grows by itself: no wait is added. */
export const checkPaymentsLoop = defineLoop({
  name: 'ask about undecided payments',
  over: 'organisations',
  atOnce: 1,
  firstRetryMs: 1,
  maxRetryMs: 1,
});
