export { serveRentalCreation, type RentalCreationRoutes } from './create.routes.ts';
export type { Rental, RentalKind, RentalMachine, RentalStep, RentalTerm, RentalView } from './rental.ts';
