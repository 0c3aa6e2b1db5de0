import { defineStatement, runStatement, type Reader, type Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type AllocationId, type OrgId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import type { Placement, PlacementRequest } from './placement.ts';

/** SQL that writes, reads and releases allocations. */

const allocateStatement = defineStatement(
  'fleet-allocate',
  `with made as (
     insert into allocations
       (id, org_id, mode, external_id, holder, region, gpu_count, node_count, state, frees_at, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, 'live', $9, $10)),
   sold as (
     insert into allocated_gpus (allocation_id, gpu_id, node_id, org_id, mode)
     select $1, gpu_id, node_id, $2, $3
       from unnest(cast($11 as uuid[]), cast($12 as uuid[])) as given (gpu_id, node_id))
   insert into allocated_ports (allocation_id, node_id, org_id, mode, protocol, external_port, internal_port)
   select $1, node_id, $2, $3, protocol, external_port, internal_port
     from unnest(cast($13 as uuid[]), cast($14 as text[]), cast($15 as int4[]), cast($16 as int4[]))
       as given (node_id, protocol, external_port, internal_port)`,
);

/** Triggers update the free counts of the nodes. */
export async function insertAllocation(
  tx: Tx,
  request: PlacementRequest,
  placement: Placement,
): Promise<void> {
  const gpus = placement.nodes.flatMap(({ nodeId, gpus: taken }) =>
    taken.map(({ gpuId }) => ({ nodeId, gpuId })),
  );
  const ports = placement.nodes.flatMap(({ nodeId, ports: given }) =>
    given.map((port) => ({ nodeId, ...port })),
  );
  await runStatement(tx, allocateStatement, [
    toUuid(placement.allocationId),
    toUuid(request.orgId),
    request.mode,
    request.externalId,
    request.holder,
    request.region,
    gpus.length,
    placement.nodes.length,
    request.freesAt,
    tx.clock.now(),
    gpus.map(({ gpuId }) => toUuid(gpuId)),
    gpus.map(({ nodeId }) => toUuid(nodeId)),
    ports.map(({ nodeId }) => toUuid(nodeId)),
    ports.map(({ protocol }) => protocol),
    ports.map(({ externalPort }) => externalPort),
    ports.map(({ internalPort }) => internalPort),
  ]);
}

const placementStatement = defineStatement(
  'fleet-placement',
  `select allocation.id, allocation.external_id,
          (select jsonb_agg(jsonb_build_object('node', sold.node_id, 'id', sold.gpu_id, 'pci', gpu.pci_address)
                            order by sold.node_id, gpu.pci_address)
             from allocated_gpus as sold join gpus as gpu on gpu.id = sold.gpu_id
            where sold.allocation_id = allocation.id) as gpus,
          (select jsonb_agg(jsonb_build_object('node', port.node_id, 'protocol', port.protocol,
                                               'external', port.external_port, 'internal', port.internal_port)
                            order by port.node_id, port.external_port)
             from allocated_ports as port where port.allocation_id = allocation.id) as ports
     from allocations as allocation
    where allocation.org_id = $1 and allocation.external_id = $2 and allocation.state = 'live'`,
);

interface PlacementRow {
  id: string;
  external_id: string;
  gpus: readonly { node: string; id: string; pci: string }[];
  ports: readonly { node: string; protocol: 'tcp' | 'udp'; external: number; internal: number }[] | null;
}

export async function findPlacement(db: Reader, orgId: OrgId, externalId: string): Promise<Placement | null> {
  const [row] = await runStatement<PlacementRow>(db, placementStatement, [toUuid(orgId), externalId]);
  if (row === undefined) return null;
  const byNode = Map.groupBy(row.gpus, (gpu) => gpu.node);
  return {
    allocationId: fromUuid('alc', row.id),
    externalId: row.external_id,
    nodes: [...byNode].map(([node, gpus]) => ({
      nodeId: fromUuid('nod', node),
      gpus: gpus.map((gpu) => ({ gpuId: fromUuid('gpu', gpu.id), pciAddress: gpu.pci })),
      ports: (row.ports ?? [])
        .filter((port) => port.node === node)
        .map((port) => ({
          protocol: port.protocol,
          externalPort: port.external,
          internalPort: port.internal,
        })),
    })),
  };
}

/** Keeps the GPUs reserved until the engine confirms the deletion. Returns false if the allocation was not live. */
export async function markReleasing(tx: Tx, orgId: OrgId, allocationId: AllocationId): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update allocations set state = 'releasing'
     where id = ${toUuid(allocationId)} and org_id = ${toUuid(orgId)} and state = 'live'`.execute(tx.kysely);
  return numAffectedRows === 1n;
}

const releaseStatement = defineStatement(
  'fleet-release',
  `with freed as (
     update allocations set state = 'released', released_at = $3
      where id = $1 and org_id = $2 and state <> 'released'
     returning id),
   ports as (
     update allocated_ports set released_at = $3
      where allocation_id = (select id from freed) and released_at is null),
   gpus as (
     update allocated_gpus set released_at = $3
      where allocation_id = (select id from freed) and released_at is null)
   select id from freed`,
);

/**
 * Frees GPUs and ports. Returns false if they were freed before: a concurrent release waits for the row, then finds
 * nothing.
 */
export async function releaseAllocation(tx: Tx, orgId: OrgId, allocationId: AllocationId): Promise<boolean> {
  const values = [toUuid(allocationId), toUuid(orgId), tx.clock.now()];
  const freed = await runStatement<{ id: string }>(tx, releaseStatement, values);
  return freed.length === 1;
}

/** Sets the expected end; null if unknown. */
export async function setFreesAt(
  tx: Tx,
  orgId: OrgId,
  allocationId: AllocationId,
  freesAt: Date | null,
): Promise<void> {
  await sql`
    update allocations set frees_at = ${freesAt}
     where id = ${toUuid(allocationId)} and org_id = ${toUuid(orgId)} and state <> 'released'`.execute(
    tx.kysely,
  );
}
