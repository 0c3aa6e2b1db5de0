import { defineLoop } from '@millrace/platform/loops';

export const recipientsLoop = defineLoop({
  name: 'address notices',
  over: 'organisations',
  maxRetryMs: 5 * 60_000,
});
/** An email is claimed for longer than its time, and its next attempt is set when it is settled. */
export const emailLoop = defineLoop({
  name: 'send mail',
  over: 'people',
  timeoutMs: 240_000,
  firstRetryMs: 1,
  maxRetryMs: 1,
});
