import type { Reader, Tables, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type OrgId, type RentalId } from '@millrace/platform/ids';
import { nanoUsd, ppm } from '@millrace/platform/money';
import type { Selectable } from 'kysely';
import { rentalWireId } from '../../rental-lookup/index.ts';
import type { Instance, MachineSnapshot } from './instances.ts';

/** SQL about the rows of instances. */

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
    // Written by this code, and validated by the contract when it is sent.
    machine: row.record as unknown as MachineSnapshot,
  };
}

/** Names are never reused. A transaction that loses a race for a name is run again. */
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

/** Includes ended instances of all organisations. */
export async function isNameTaken(reader: Reader, name: string): Promise<boolean> {
  const row = await reader.kysely
    .selectFrom('instances')
    .select('name')
    .where('name', '=', name)
    .executeTakeFirst();
  return row !== undefined;
}

/** Returns null if the organisation has no such instance in this mode. */
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
