export { carryOutConfirmation, type ConfirmSteps } from './confirm.service.ts';
export { lostTimeOf, mayHaveLostRow } from './lost-time.ts';
export { declareRestored } from './declare.service.ts';
export { natsStore, valkeyStore, type OutsideStore } from './outside.ts';
export {
  formatEffects,
  formatReport,
  makeReport,
  type LostMachine,
  type ReportSources,
  type RestoreReport,
} from './report.ts';
export { createRestoreGuard, type RestoreGuard } from './restore.guard.ts';
export {
  beginConfirming,
  readCounters,
  readRestoreState,
  saveReport,
  type RestoreState,
} from './restore.store.ts';
