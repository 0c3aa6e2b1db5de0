export { confirmRestore, type ConfirmSteps } from './confirm.service.ts';
export { lostPeriodOf, mayHaveLostRow } from './lost-time.ts';
export { declareRestored } from './declare.service.ts';
export { createNatsMarkStore, createValkeyMarkStore, type MarkStore } from './outside.ts';
export {
  formatConfirmEffects,
  formatRestoreReport,
  buildRestoreReport,
  type LostMachine,
  type ReportSources,
  type RestoreReport,
} from './report.ts';
export { createRestoreGuard, type RestoreGuard } from './restore.guard.ts';
export {
  beginConfirming,
  readCounters,
  readRestoreState,
  saveRestoreReport,
  type RestoreState,
} from './restore.store.ts';
