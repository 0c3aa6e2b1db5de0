import { defineProof } from '@millrace/runners';
import { virtualMachines } from './rentals/rental-kinds.ts';
import { proveRentalKind } from './rentals/chaos-run.ts';

/** Tenants who rent and end, and everything under them killed at random. */
export const proof = defineProof({
  name: 'rentals',
  company: { waitsFor: 'incus' },
  proves:
    'Rentals on a real Incus cluster while api, workers, Restate and Incus hosts are killed with kill -9 at random and Restate loses all its data: afterwards every rental is Running, Terminated or failed and paid back, nothing is on the hosts that nobody owns, no GPU was sold twice, and the auditor finds no drift.',
  short: (run) => proveRentalKind(run, virtualMachines, { rentals: 8, kills: 3, wipes: 1, tenants: 2 }),
  long: (run) => proveRentalKind(run, virtualMachines, { rentals: 200, kills: 60, wipes: 3, tenants: 4 }),
});
