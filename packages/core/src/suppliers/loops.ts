import { defineLoop } from '@millrace/platform/loops';

/** An item is a supplier; its months are written in order. */
export const statementsLoop = defineLoop({
  name: 'write statements of suppliers',
  over: 'suppliers',
  firstRetryMs: 60_000,
  maxRetryMs: 6 * 3_600_000,
});
export const reliabilityLoop = defineLoop({ name: 'measure machines of suppliers', over: 'suppliers' });
export const quarantineLoop = defineLoop({ name: 'judge machines of suppliers', over: 'suppliers' });
/** One attempt at one stage, within the time of its claim. The row says when the next attempt is due. */
export const enrolmentLoop = defineLoop({
  name: 'enrol machines',
  over: 'suppliers',
  timeoutMs: 400_000,
  atOnce: 12,
  firstRetryMs: 1,
  maxRetryMs: 1,
});
