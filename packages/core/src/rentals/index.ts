export type { Rental, RentalKind, RentalMachine, RentalStep, RentalTerm, RentalView } from './rental.ts';
