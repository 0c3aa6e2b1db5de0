import { defineProof } from '@millrace/runners';
import { instances } from './rentals/rental-kinds.ts';
import { proveRentalKind } from './rentals/chaos-run.ts';

export const proof = defineProof({
  name: 'instances',
  company: { waitsFor: 'incus' },
  proves:
    'Marketplace instances run on a real Incus cluster while api, workers, Restate and Incus hosts are killed with kill -9 at random and Restate loses all its data. Afterwards every instance is online, terminated, or failed and refunded, no orphaned machine is on the hosts, no GPU was sold twice, and the auditor finds no drift.',
  short: (run) => proveRentalKind(run, instances, { rentals: 6, kills: 2, wipes: 1, tenants: 2 }),
  long: (run) => proveRentalKind(run, instances, { rentals: 200, kills: 60, wipes: 3, tenants: 4 }),
});
