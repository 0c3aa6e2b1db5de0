import { defineLoop } from '@millrace/platform/loops';

export const maintenanceLoop = defineLoop({
  name: 'keep maintenance windows',
  over: 'nodes',
  atOnce: 1,
  firstRetryMs: 1_000,
  maxRetryMs: 60_000,
});
