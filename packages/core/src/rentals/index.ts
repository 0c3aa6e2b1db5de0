export { serveRentalCreation, type RentalCreationRoutes } from './create.routes.ts';
export {
  askForConsole,
  consoleSubject,
  forgetOldConsoles,
  serveConsoles,
  type AskForConsole,
} from './console.service.ts';
export { carryOutIdle } from './idle.service.ts';
export { carryOutRequired } from './ladder.service.ts';
export { serveRentalLife, type RentalLifeRoutes } from './life.routes.ts';
export { serveMonitoring, type MonitoringRoutes } from './monitoring.routes.ts';
export { defaultPolicy as defaultRentalPolicy } from './policy.ts';
export type { RecallMoney } from './recalled-money.ts';
export { serveRentalReading, type ReadingRoutes } from './reading.routes.ts';
export { driveForsaken, redriveDue } from './redrive.ts';
export { dryRun, formatDryRun, type DryRun } from './dry-run.ts';
export { RentalReconciler } from './rentals.reconciler.ts';
export { allowReaping } from './sightings.store.ts';
export { createRentalWorkflow } from './rentals.workflow.ts';
export { forgetOldSamples, sampleDue } from './sampling.service.ts';
export type { Rental, RentalKind, RentalMachine, RentalStep, RentalTerm, RentalView } from './rental.ts';
