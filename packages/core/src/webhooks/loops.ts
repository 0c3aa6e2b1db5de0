import { defineLoop } from '@millrace/platform/loops';

/** One turn of one webhook. Each delivery has its own time-out and retry schedule. */
export const webhooksLoop = defineLoop({
  name: 'claim webhooks',
  over: 'organisations',
  timeoutMs: 10 * 60_000,
  atOnce: 96,
  firstRetryMs: 1,
  maxRetryMs: 1,
});
export const resealLoop = defineLoop({
  name: 'reseal webhooks',
  over: 'organisations',
  firstRetryMs: 1,
  maxRetryMs: 1,
});
