import { defineProof } from '@millrace/runners';
import { bareMetal } from './rentals/rental-kinds.ts';
import { proveRentalKind } from './rentals/chaos-run.ts';

export const proof = defineProof({
  name: 'bare-metal',
  company: { waitsFor: 'ironic' },
  proves:
    'Bare-metal rentals of one and two nodes run on a real Ironic with its Redfish driver and emulated machines, while api, workers, Restate and Ironic are killed with kill -9 at random and Restate loses all its data. Afterwards every rental is Running, Terminated, or failed and refunded, no orphaned machine is left, no node was sold twice, every node can be rented again, and the auditor finds no drift.',
  short: (run) => proveRentalKind(run, bareMetal, { rentals: 3, kills: 3, wipes: 1, tenants: 2 }),
  long: (run) => proveRentalKind(run, bareMetal, { rentals: 120, kills: 48, wipes: 3, tenants: 3 }),
});
