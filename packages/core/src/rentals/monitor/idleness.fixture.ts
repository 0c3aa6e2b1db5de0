import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid } from '@millrace/platform/ids';
import { sql } from 'kysely';
import { insertMachines } from '../model/machines.store.ts';
import type { RentalHarness, Tenant } from '../model/rental.fixture.ts';
import type { Rental } from '../model/rental.ts';
import { insertRental } from '../model/rentals.store.ts';
import { rentalWith } from '../view.fixture.ts';

let nextWireId = 1_000;

/** Inserts rows of a running rental with a machine of 48 cores that no engine has. */
export function insertRunningRental(
  harness: RentalHarness,
  tenant: Tenant,
  fields: Partial<Pick<Rental, 'monitoring' | 'idle' | 'power' | 'status'>> & { readonly mode?: Mode } = {},
): Promise<Rental> {
  const { mode = 'live' } = fields;
  const now = harness.clock.now();
  return harness.run(async (tx) => {
    const id = tx.ids.next('rnt');
    const { clusterId } = harness.engines[mode];
    const { rows } = await sql<{ node_id: string }>`
      select node.id as node_id from nodes as node where node.cluster_id = ${toUuid(clusterId)} limit 1
    `.execute(tx.kysely);
    const nodeId = rows[0]?.node_id ?? '';
    const rental = await insertRental(tx, {
      ...rentalWith({ orgId: tenant.orgId, userId: tenant.userId, id, wireId: (nextWireId += 1) }),
      mode,
      providerId: mode === 'test' ? 'mock' : 'provider-v8',
      status: 'Running',
      power: 'on',
      task: null,
      taskDeadlineAt: null,
      startedAt: now,
      allocationId: null,
      nextActionAt: now,
      deadlineAt: now,
      ...fields,
    });
    await insertMachines(tx, tenant.orgId, [
      {
        rentalId: id,
        attempt: 1,
        position: 1,
        orgId: tenant.orgId,
        mode,
        externalId: toUuid(id),
        allocationId: null,
        clusterId,
        nodeId: fromUuid('nod', nodeId),
        gpuAddresses: ['0000:10:00.0'],
        ports: [],
        cpuCount: 48,
        ramMb: 100_000,
        diskGb: 100,
      },
    ]);
    await sql`update rental_machines set state = 'open' where rental_id = ${toUuid(id)}`.execute(tx.kysely);
    return rental;
  });
}
