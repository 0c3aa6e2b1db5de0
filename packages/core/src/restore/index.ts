export { confirmRestore, type ConfirmSteps } from './confirm-restore.service.ts';
export { lostPeriodOf, mayHaveLostRow } from './lost-period.ts';
export { declareRestored } from './declare-restore.service.ts';
export {
  createNatsMarkStore,
  createValkeyMarkStore,
  restoreMarkBucket,
  restoreMarkGrant,
  type MarkStore,
} from './mark-stores.ts';
export {
  formatConfirmEffects,
  formatRestoreReport,
  buildRestoreReport,
  type LostMachine,
  type ReportSources,
  type RestoreReport,
} from './restore-report.ts';
export { createRestoreGuard, type RestoreGuard } from './restore.guard.ts';
export {
  beginConfirming,
  readCounters,
  readRestoreState,
  saveRestoreReport,
  type RestoreState,
} from './restore.store.ts';
export { startGeneration } from './restore.store.ts';
