import type { Reader, Tables, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type OrgId, type RentalId } from '@millrace/platform/ids';
import { nanoUsd, ppm } from '@millrace/platform/money';
import type { Selectable } from 'kysely';
import { rentalWireId } from '../../rental-lookup/index.ts';
import type { Instance, MachineSnapshot } from './instances.ts';

/** All SQL about instances beyond their rentals. */

function toInstance(row: Selectable<Tables['instances']>): Instance {
  return {
    rentalId: fromUuid('rnt', row.rental_id),
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    name: row.name,
    nodeId: fromUuid('nod', row.node_id),
    clusterName: row.cluster_name,
    pricePerGpuHour: nanoUsd(row.price_nano_usd_per_gpu_hour),
    fee: ppm(row.fee_ppm),
    // It was written by this code, and is shown through the contract.
    machine: row.record as unknown as MachineSnapshot,
  };
}

/** Names are given once and for ever: whoever loses a race for one has its transaction run again. */
export async function insertInstance(tx: Tx, instance: Instance): Promise<void> {
  await tx.kysely
    .insertInto('instances')
    .values({
      rental_id: toUuid(instance.rentalId),
      org_id: toUuid(instance.orgId),
      mode: instance.mode,
      name: instance.name,
      node_id: toUuid(instance.nodeId),
      cluster_name: instance.clusterName,
      price_nano_usd_per_gpu_hour: instance.pricePerGpuHour,
      fee_ppm: instance.fee,
      record: JSON.stringify(instance.machine),
    })
    .execute();
}

/** Whether anybody's instance has or had the name. */
export async function isNameTaken(reader: Reader, name: string): Promise<boolean> {
  const row = await reader.kysely
    .selectFrom('instances')
    .select('name')
    .where('name', '=', name)
    .executeTakeFirst();
  return row !== undefined;
}

/** The number of the rental behind a name; null when the organisation has no such instance in this mode. */
export async function findInstanceWireId(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  name: string,
): Promise<number | null> {
  const row = await reader.kysely
    .selectFrom('instances as instance')
    .select(rentalWireId('instance.rental_id').as('wire_id'))
    .where('instance.name', '=', name)
    .where('instance.org_id', '=', toUuid(orgId))
    .where('instance.mode', '=', mode)
    .executeTakeFirst();
  return row?.wire_id ?? null;
}

/** What these rentals have as instances. */
export async function readInstances(
  reader: Reader,
  orgId: OrgId,
  rentalIds: readonly RentalId[],
): Promise<ReadonlyMap<RentalId, Instance>> {
  if (rentalIds.length === 0) return new Map();
  const rows = await reader.kysely
    .selectFrom('instances')
    .selectAll()
    .where('rental_id', 'in', rentalIds.map(toUuid))
    .where('org_id', '=', toUuid(orgId))
    .execute();
  return new Map(rows.map(toInstance).map((instance) => [instance.rentalId, instance]));
}
