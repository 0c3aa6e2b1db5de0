import type { MachineState } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type ClusterId, type FabricId, type NodeId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import type { ClusterRecord } from './clusters.ts';
import type { StoredHardware, StoredNode, NewNode, NodePlan } from './inventory-plan.ts';
import { gpuColumns, toGpuFacts, type GpuFactsRow } from './nodes.store.ts';
import { actorText, syncActor, type ReturnStatus } from './nodes.ts';

/** SQL that stores an inventory, with one statement per table for any number of nodes. */

interface StoredNodeRow {
  id: string;
  name: string;
  status: MachineState;
  status_reason: string | null;
  back_to: ReturnStatus | null;
  drain_deadline_at: Date | null;
  hardware_digest: string | null;
  unreachable_since: Date | null;
}

const storedNodeColumns = sql`node.id, node.name, node.status, node.status_reason, node.back_to, node.drain_deadline_at,
  node.hardware_digest, node.unreachable_since`;

function toStoredNode(row: StoredNodeRow): StoredNode {
  return {
    id: fromUuid('nod', row.id),
    name: row.name,
    status: row.status,
    statusReason: row.status_reason,
    backTo: row.back_to,
    drainDeadlineAt: row.drain_deadline_at,
    hardwareDigest: row.hardware_digest,
    unreachableSince: row.unreachable_since,
  };
}

/** Includes removed nodes that the engine still lists. */
export async function readStoredNodes(tx: Tx, clusterId: ClusterId): Promise<readonly StoredNode[]> {
  const { rows } = await sql<StoredNodeRow>`
    select ${storedNodeColumns} from nodes as node
     where node.cluster_id = ${toUuid(clusterId)} and (node.status <> 'node_removed' or node.forgotten_at is null)
  `.execute(tx.kysely);
  return rows.map(toStoredNode);
}

/** The caller holds the locks of the capacity rows. */
export async function readStoredHardware(tx: Tx, ids: readonly NodeId[]): Promise<readonly StoredHardware[]> {
  if (ids.length === 0) return [];
  const uuids = ids.map(toUuid);
  const { rows: nodes } = await sql<StoredNodeRow>`
    select ${storedNodeColumns} from nodes as node where node.id = any (${uuids}::uuid[])
  `.execute(tx.kysely);
  const { rows: gpus } = await sql<GpuFactsRow & { sold: boolean }>`
    select ${gpuColumns}, sold.gpu_id is not null as sold
      from gpus as gpu
      left join allocated_gpus as sold on sold.gpu_id = gpu.id and sold.released_at is null
     where gpu.node_id = any (${uuids}::uuid[]) and gpu.state <> 'replaced'
  `.execute(tx.kysely);
  const byNode = Map.groupBy(gpus, (gpu) => gpu.node_id);
  return nodes.map((row) => ({
    ...toStoredNode(row),
    gpus: (byNode.get(row.id) ?? []).map((gpu) => ({ ...toGpuFacts(gpu), sold: gpu.sold })),
  }));
}

export interface DeviceLocation {
  readonly deviceUuid: string;
  readonly nodeName: string;
  readonly clusterId: ClusterId;
  readonly clusterName: string;
}

/** Finds the nodes of any cluster that have these devices. */
export async function findDeviceLocations(
  tx: Tx,
  deviceUuids: readonly string[],
): Promise<readonly DeviceLocation[]> {
  if (deviceUuids.length === 0) return [];
  const { rows } = await sql<{ device_uuid: string; node: string; cluster_id: string; cluster: string }>`
    select gpu.device_uuid, node.name as node, node.cluster_id, cluster.name as cluster
      from gpus as gpu
      join nodes as node on node.id = gpu.node_id
      join clusters as cluster on cluster.id = node.cluster_id
     where gpu.device_uuid = any (${deviceUuids}::text[]) and gpu.state = 'present'
       and node.status <> 'node_removed'
  `.execute(tx.kysely);
  return rows.map((row) => ({
    deviceUuid: row.device_uuid,
    nodeName: row.node,
    clusterId: fromUuid('cls', row.cluster_id),
    clusterName: row.cluster,
  }));
}

/** Inserts missing fabrics and returns all fabrics of the cluster by name. */
export async function ensureFabrics(
  tx: Tx,
  cluster: ClusterId,
  names: readonly string[],
): Promise<FabricIds> {
  if (names.length === 0) return new Map();
  const rows = JSON.stringify(names.map((name) => ({ id: toUuid(tx.ids.next('fab')), name })));
  await sql`
    insert into fabrics (id, cluster_id, name)
    select id, ${toUuid(cluster)}, name from json_to_recordset(${rows}::json) as fabric (id uuid, name text)
    on conflict (cluster_id, name) do nothing
  `.execute(tx.kysely);
  const found = await tx.kysely
    .selectFrom('fabrics')
    .select(['id', 'name'])
    .where('cluster_id', '=', toUuid(cluster))
    .execute();
  return new Map(found.map(({ id, name }) => [name, fromUuid('fab', id)]));
}

type FabricIds = ReadonlyMap<string, FabricId>;

function fabricOf(fabrics: FabricIds, name: string | null): string | null {
  const id = name === null ? undefined : fabrics.get(name);
  return id === undefined ? null : toUuid(id);
}

const nodeHardware = sql`address text, cpu_model text, cpu_count int, ram_mb int, storage_gb int,
  gpu_form_factor text, driver_version text, cuda_version text, hardware_digest text`;

function hardwareRow({ hardware, formFactor }: Pick<NodePlan, 'hardware' | 'formFactor'>) {
  return {
    address: hardware?.address ?? null,
    cpu_model: hardware?.cpuModel ?? null,
    cpu_count: hardware?.cpuCount ?? null,
    ram_mb: hardware?.ramMb ?? null,
    storage_gb: hardware?.storageGb ?? null,
    gpu_form_factor: formFactor,
    driver_version: hardware?.driverVersion ?? null,
    cuda_version: hardware?.cudaVersion ?? null,
    hardware_digest: hardware?.digest ?? null,
  };
}

/** Inserts nodes with their capacity and first transitions. They are not open until `refreshOpenFlags` runs. */
export async function insertNodes(
  tx: Tx,
  cluster: ClusterRecord,
  nodes: readonly (NewNode & { readonly id: NodeId })[],
  context: { readonly now: Date; readonly fabrics: FabricIds },
): Promise<void> {
  if (nodes.length === 0) return;
  const { now, fabrics } = context;
  const rows = JSON.stringify(
    nodes.map((node) => ({
      id: toUuid(node.id),
      name: node.name,
      status: node.status,
      status_reason: node.statusReason,
      transitions: node.steps.length,
      unreachable_since: node.unreachableSince,
      read: node.hardware !== null,
      fabric_id: fabricOf(fabrics, node.hardware?.fabric ?? null),
      gpu_type: node.gpuType,
      connection_type: node.hardware?.connectionType ?? cluster.connectionType,
      cuda: node.hardware?.cuda ?? null,
      ...hardwareRow(node),
    })),
  );
  await sql`
    with new_node as (
      select * from json_to_recordset(${rows}::json) as new_node (id uuid, name text, status text, status_reason text,
        transitions int, unreachable_since timestamptz, read boolean, fabric_id uuid, gpu_type text,
        connection_type text, cuda int, ${nodeHardware})
    ), inserted as (
      insert into nodes (id, cluster_id, name, status, status_reason, status_since, address, cpu_model, cpu_count,
        ram_mb, storage_gb, gpu_form_factor, driver_version, cuda_version, hardware_read_at, hardware_digest,
        first_seen_at, unreachable_since, transitions)
      select id, ${toUuid(cluster.id)}, name, status, status_reason, ${now}, address, cpu_model, cpu_count, ram_mb,
             storage_gb, gpu_form_factor, driver_version, cuda_version, case when read then ${now}::timestamptz end,
             hardware_digest, ${now}, unreachable_since, transitions
        from new_node
    )
    insert into node_capacity (node_id, mode, offer, provider_id, region, cluster_id, fabric_id, gpu_type,
      connection_type, cuda, ready, spread)
    select id, ${cluster.mode}, ${cluster.offer}, ${cluster.providerId}, ${cluster.region}, ${toUuid(cluster.id)},
           fabric_id, gpu_type, connection_type, cuda, status = 'node_ready', (hashtextextended(id::text, 0) & 2147483647) % 2147483647
      from new_node
  `.execute(tx.kysely);
  await insertFirstTransitions(tx, nodes, now);
}

async function insertFirstTransitions(
  tx: Tx,
  nodes: readonly (NewNode & { readonly id: NodeId })[],
  now: Date,
): Promise<void> {
  const rows = JSON.stringify(
    nodes.flatMap((node) =>
      node.steps.map((step, index) => ({
        node_id: toUuid(node.id),
        seq: index + 1,
        from_status: node.steps[index - 1]?.to ?? null,
        to_status: step.to,
        reason: step.reason,
      })),
    ),
  );
  await sql`
    insert into node_transitions (node_id, seq, from_status, to_status, reason, actor, at)
    select node_id, seq, from_status, to_status, reason, ${actorText(syncActor)}, ${now}
      from json_to_recordset(${rows}::json) as step
        (node_id uuid, seq int, from_status text, to_status text, reason text)
  `.execute(tx.kysely);
}

export async function updateNodes(
  tx: Tx,
  plans: readonly NodePlan[],
  context: { readonly now: Date; readonly seenBefore: Date | null },
): Promise<void> {
  const changed = plans.filter(
    (plan) =>
      plan.hardware !== null ||
      plan.note !== undefined ||
      plan.unreachableSince !== undefined ||
      plan.isDelisted,
  );
  if (changed.length === 0) return;
  const rows = JSON.stringify(
    changed.map((plan) => ({
      id: toUuid(plan.nodeId),
      read: plan.hardware !== null,
      noted: plan.note !== undefined,
      note: plan.note ?? null,
      reach: plan.unreachableSince !== undefined,
      unreachable_since: plan.unreachableSince ?? null,
      forgotten: plan.isDelisted,
      ...hardwareRow(plan),
    })),
  );
  await sql`
    update nodes as node
       set address = case when plan.read then plan.address else node.address end,
           cpu_model = case when plan.read then plan.cpu_model else node.cpu_model end,
           cpu_count = case when plan.read then plan.cpu_count else node.cpu_count end,
           ram_mb = case when plan.read then plan.ram_mb else node.ram_mb end,
           storage_gb = case when plan.read then plan.storage_gb else node.storage_gb end,
           gpu_form_factor = case when plan.read then plan.gpu_form_factor else node.gpu_form_factor end,
           driver_version = case when plan.read then plan.driver_version else node.driver_version end,
           cuda_version = case when plan.read then plan.cuda_version else node.cuda_version end,
           hardware_digest = case when plan.read then plan.hardware_digest else node.hardware_digest end,
           hardware_read_at = case when plan.read then ${context.now}::timestamptz else node.hardware_read_at end,
           status_reason = case when plan.noted then plan.note else node.status_reason end,
           last_seen_at = case when plan.reach and plan.unreachable_since is not null
                                and node.unreachable_since is null
                               then ${context.seenBefore}::timestamptz else node.last_seen_at end,
           unreachable_since = case when plan.reach then plan.unreachable_since else node.unreachable_since end,
           forgotten_at = case when plan.forgotten then ${context.now}::timestamptz else node.forgotten_at end
      from json_to_recordset(${rows}::json) as plan (id uuid, read boolean, noted boolean, note text, reach boolean,
             unreachable_since timestamptz, forgotten boolean, ${nodeHardware})
     where node.id = plan.id
  `.execute(tx.kysely);
}

export async function updateCapacity(tx: Tx, plans: readonly NodePlan[], fabrics: FabricIds): Promise<void> {
  const changed = plans.filter((plan) => plan.hardware !== null);
  if (changed.length === 0) return;
  const rows = JSON.stringify(
    changed.map((plan) => ({
      node_id: toUuid(plan.nodeId),
      fabric_id: fabricOf(fabrics, plan.hardware?.fabric ?? null),
      gpu_type: plan.gpuType,
      connection_type: plan.hardware?.connectionType,
      cuda: plan.hardware?.cuda ?? null,
    })),
  );
  await sql`
    update node_capacity as capacity
       set fabric_id = plan.fabric_id, gpu_type = plan.gpu_type, connection_type = plan.connection_type,
           cuda = plan.cuda
      from json_to_recordset(${rows}::json) as plan
        (node_id uuid, fabric_id uuid, gpu_type text, connection_type text, cuda int)
     where capacity.node_id = plan.node_id
       and (capacity.fabric_id, capacity.gpu_type, capacity.connection_type, capacity.cuda)
           is distinct from (plan.fabric_id, plan.gpu_type, plan.connection_type, plan.cuda)
  `.execute(tx.kysely);
}

/** Updates before it inserts, because a replaced GPU frees its address for the new one. */
export async function writeGpus(
  tx: Tx,
  nodes: readonly Pick<NodePlan, 'nodeId' | 'gpuChanges' | 'newGpus'>[],
  now: Date,
): Promise<void> {
  const changes = nodes.flatMap((node) =>
    node.gpuChanges.map((change) => ({
      id: toUuid(change.id),
      state: change.state,
      state_reason: change.stateReason,
      device_uuid: change.deviceUuid,
      model: change.model,
      gpu_type: change.gpuType,
      ram_mb: change.ramMb,
      numa_node: change.numaNode,
    })),
  );
  if (changes.length > 0) {
    await sql`
      update gpus as gpu
         set state = change.state,
             state_reason = case when gpu.state = change.state then gpu.state_reason else change.state_reason end,
             device_uuid = change.device_uuid,
             model = change.model, gpu_type = change.gpu_type, ram_mb = change.ram_mb, numa_node = change.numa_node
        from json_to_recordset(${JSON.stringify(changes)}::json) as change (id uuid, state text, state_reason text,
               device_uuid text, model text, gpu_type text, ram_mb int, numa_node smallint)
       where gpu.id = change.id
    `.execute(tx.kysely);
  }
  const added = nodes.flatMap((node) =>
    node.newGpus.map((gpu) => ({
      id: toUuid(tx.ids.next('gpu')),
      node_id: toUuid(node.nodeId),
      pci_address: gpu.pciAddress,
      device_uuid: gpu.deviceUuid,
      model: gpu.model,
      gpu_type: gpu.gpuType,
      ram_mb: gpu.ramMb,
      numa_node: gpu.numaNode,
    })),
  );
  if (added.length === 0) return;
  await sql`
    insert into gpus (id, node_id, pci_address, device_uuid, model, gpu_type, ram_mb, numa_node, state, first_seen_at)
    select id, node_id, pci_address, device_uuid, model, gpu_type, ram_mb, numa_node, 'present', ${now}
      from json_to_recordset(${JSON.stringify(added)}::json) as gpu (id uuid, node_id uuid, pci_address text,
             device_uuid text, model text, gpu_type text, ram_mb int, numa_node smallint)
  `.execute(tx.kysely);
}
