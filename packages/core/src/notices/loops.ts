import { defineLoop } from '@millrace/platform/loops';

export const recipientsLoop = defineLoop({
  name: 'address notices',
  over: 'organisations',
  maxRetryMs: 5 * 60_000,
});
/** The claim of an email lasts longer than this timeout, and its outcome sets the next attempt. */
export const emailLoop = defineLoop({
  name: 'send mail',
  over: 'people',
  timeoutMs: 240_000,
  firstRetryMs: 1,
  maxRetryMs: 1,
});
