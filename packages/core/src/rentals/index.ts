export { terminateOwnRental } from './asked.service.ts';
export {
  requireImage,
  requireMaxUsd,
  requireSshKeyIds,
  requireUserData,
  type InstanceOrder,
} from './create.ts';
export { acceptOrder } from './create.service.ts';
export { serveRentalCreation, type RentalCreationRoutes } from './create.routes.ts';
export {
  createConsoleRequester,
  consoleSubject,
  deleteOldConsoles,
  serveConsoles,
  type RequestConsoleRead,
} from './console.service.ts';
export { executeIdleRule } from './idle.service.ts';
export { executeRequiredActions, runningWork } from './ladder.service.ts';
export {
  TERMINATION_LOCK_TIMEOUT_MS,
  serveRentalLifecycle,
  type RentalLifecycleRoutes,
} from './life.routes.ts';
export { serveMonitoring, type MonitoringRoutes } from './monitoring.routes.ts';
export type { EndedPosition } from './listing.store.ts';
export { createOrderRunner, type RunOrder, type OrderRunnerDeps } from './ordering.ts';
export { defaultRentalPolicy } from './policy.ts';
export { sshAccessOf, openPortsOf } from './provider-data.ts';
export {
  getInstanceRecord,
  listRentalHistory,
  listRentalRecords,
  type HistoryEntry,
} from './reading.service.ts';
export { serveRentalQueries, type RentalQueryRoutes } from './reading.routes.ts';
export { createRentalRecovery, enqueueDueRentals } from './redrive.ts';
export { dryRun, formatDryRun, type DryRun } from './dry-run.ts';
export { InventoryReconciler } from './rentals.reconciler.ts';
export { quarantineNodeWithUnknownMachine } from './suspects.service.ts';
export { allowOrphanRemoval } from './sightings.store.ts';
export { createRentalWorkflow } from './rentals.workflow.ts';
export { expireSamples, sampleDueShards } from './sampling.service.ts';
export type { RentalRecord, MachineSummary } from './records.ts';
export type {
  Rental,
  RentalKind,
  RentalMachine,
  ProvisioningStep,
  RentalTerm,
  RentalView,
} from './rental.ts';
