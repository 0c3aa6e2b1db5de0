export { terminateOwnRental } from './actions/tenant-actions.service.ts';
export { requireImage, requireSshKeyIds, requireUserData, type InstanceOrder } from './order/order.ts';
export { acceptOrder } from './order/accept-order.service.ts';
export { serveRentalCreation, type RentalCreationRoutes } from './order/create.routes.ts';
export {
  createConsoleRequester,
  consoleSubject,
  deleteOldConsoles,
  serveConsoles,
  type RequestConsoleRead,
} from './monitor/console.service.ts';
export { executeIdleRule } from './monitor/idle-rules.service.ts';
export { executeRequiredActions, runningWork } from './actions/dunning.service.ts';
export {
  TERMINATION_LOCK_TIMEOUT_MS,
  serveRentalLifecycle,
  type RentalLifecycleRoutes,
} from './actions/lifecycle.routes.ts';
export { serveMonitoring, type MonitoringRoutes } from './monitor/monitoring.routes.ts';
export { countRentals } from './read/admin-rentals.store.ts';
export { occupantText, onlineInstances } from './read/rental-fragments.store.ts';
export type { EndedPosition } from './read/rental-lists.store.ts';
export { createOrderRunner, type RunOrder, type OrderRunnerDeps } from './order/order-runner.ts';
export { defaultRentalPolicy } from './model/policy.ts';
export { sshAccessOf, openPortsOf } from './read/provider-data.ts';
export {
  getInstanceRecord,
  listRentalHistory,
  listRentalRecords,
  type HistoryEntry,
} from './read/rental-queries.service.ts';
export { serveRentalQueries, type RentalQueryRoutes } from './read/rental-queries.routes.ts';
export { createRentalRecovery, enqueueDueRentals } from './reconcile/recovery.ts';
export { dryRun, formatDryRun, type DryRun } from './inventory/dry-run.ts';
export { serveWriteOffs } from './inventory/write-off.routes.ts';
export { InventoryReconciler } from './inventory/inventory-reconciler.ts';
export { allowOrphanRemoval } from './inventory/comparisons.store.ts';
export { createRentalWorkflow } from './reconcile/rentals.workflow.ts';
export { expireSamples, sampleDueShards } from './monitor/sampling.service.ts';
export type { RentalRecord, MachineSummary } from './read/rental-record.ts';
export type {
  Rental,
  RentalKind,
  RentalMachine,
  ProvisioningStep,
  RentalTerm,
  RentalView,
} from './model/rental.ts';
export { reconcileRental } from './reconcile/reconcile-rental.ts';
export type { ReconcileDeps } from './reconcile/reconcile-deps.ts';
