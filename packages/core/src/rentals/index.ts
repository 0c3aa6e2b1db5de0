export { terminateOwn } from './asked.service.ts';
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
  askForConsole,
  consoleSubject,
  forgetOldConsoles,
  serveConsoles,
  type AskForConsole,
} from './console.service.ts';
export { carryOutIdle } from './idle.service.ts';
export { carryOutRequired, runningWork } from './ladder.service.ts';
export { ENDING_PATIENCE_MS, serveRentalLife, type RentalLifeRoutes } from './life.routes.ts';
export { serveMonitoring, type MonitoringRoutes } from './monitoring.routes.ts';
export type { EndedPosition } from './listing.store.ts';
export { createOrdering, type Ordering, type OrderingParts } from './ordering.ts';
export { defaultPolicy as defaultRentalPolicy } from './policy.ts';
export { entranceOf, openPortsOf } from './provider-data.ts';
export { getInstanceRecord, listHistory, listRecords, type HistoryEntry } from './reading.service.ts';
export { serveRentalReading, type ReadingRoutes } from './reading.routes.ts';
export { createRentalRecovery, redriveDue } from './redrive.ts';
export { dryRun, formatDryRun, type DryRun } from './dry-run.ts';
export { RentalReconciler } from './rentals.reconciler.ts';
export { quarantineHoldingLost } from './suspects.service.ts';
export { allowReaping } from './sightings.store.ts';
export { createRentalWorkflow } from './rentals.workflow.ts';
export { forgetOldSamples, sampleDue } from './sampling.service.ts';
export type { RentalRecord, ShownMachine } from './records.ts';
export type { Rental, RentalKind, RentalMachine, RentalStep, RentalTerm, RentalView } from './rental.ts';
