import type { MachineState } from '@millrace/contract';
import type { Reader, Tables, Tx } from '@millrace/platform/db';
import type { Actor, Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type ClusterId, type NodeId } from '@millrace/platform/ids';
import { appendOutboxBatch, type EventEntry } from '@millrace/platform/outbox';
import { sql, type Selectable } from 'kysely';
import type { ClusterRecord, FleetPageRequest } from './clusters.ts';
import {
  actorText,
  ownerEventFor,
  type GpuFacts,
  type NodeGpu,
  type NewNodeTransition,
  type NodeRecord,
} from './nodes.ts';

/** SQL that reads nodes, locks their capacity and writes their transitions. */

export interface NodeFilter {
  readonly clusterId?: ClusterId | undefined;
  readonly status?: MachineState | undefined;
  /** The engine's name of the node. */
  readonly name?: string;
}

const nodeColumns = [
  'node.id',
  'node.cluster_id',
  'cluster.name as cluster_name',
  'cluster.supplier_org_id',
  'cluster.last_seen_at as cluster_seen_at',
  'capacity.provider_id',
  'capacity.region',
  'capacity.mode',
  'capacity.offer',
  'capacity.connection_type',
  'capacity.gpu_type',
  'capacity.placeable',
  'node.name',
  'node.status',
  'node.status_reason',
  'node.status_since',
  'node.back_to',
  'node.drain_deadline_at',
  'node.address',
  'node.cpu_model',
  'node.cpu_count',
  'node.ram_mb',
  'node.storage_gb',
  'node.gpu_form_factor',
  'node.driver_version',
  'node.cuda_version',
  'node.hardware_read_at',
  'node.first_seen_at',
  'node.last_seen_at',
  'node.unreachable_since',
] as const;

function nodesQuery(reader: Reader) {
  return reader.kysely
    .selectFrom('nodes as node')
    .innerJoin('node_capacity as capacity', 'capacity.node_id', 'node.id')
    .innerJoin('clusters as cluster', 'cluster.id', 'node.cluster_id')
    .select(nodeColumns)
    .select((select) =>
      select
        .selectFrom('allocated_gpus as sold')
        .select((count) => count.fn.count<bigint>('sold.allocation_id').distinct().as('held'))
        .whereRef('sold.node_id', '=', 'node.id')
        .where('sold.released_at', 'is', null)
        .as('live_allocations'),
    );
}

type NodeRow = Awaited<ReturnType<ReturnType<typeof nodesQuery>['execute']>>[number];

function toRecord(row: NodeRow, gpus: readonly NodeGpu[]): NodeRecord {
  const reached = row.unreachable_since === null && row.status !== 'node_removed';
  return {
    id: fromUuid('nod', row.id),
    clusterId: fromUuid('cls', row.cluster_id),
    clusterName: row.cluster_name,
    providerId: row.provider_id,
    region: row.region,
    mode: row.mode,
    offer: row.offer,
    connectionType: row.connection_type,
    supplierOrgId: row.supplier_org_id === null ? null : fromUuid('org', row.supplier_org_id),
    name: row.name,
    status: row.status,
    statusReason: row.status_reason,
    statusSince: row.status_since,
    backTo: row.back_to,
    drainDeadlineAt: row.drain_deadline_at,
    address: row.address,
    cpuModel: row.cpu_model,
    cpuCount: row.cpu_count,
    ramMb: row.ram_mb,
    storageGb: row.storage_gb,
    gpuFormFactor: row.gpu_form_factor,
    gpuType: row.gpu_type,
    driverVersion: row.driver_version,
    cudaVersion: row.cuda_version,
    hardwareReadAt: row.hardware_read_at,
    firstSeenAt: row.first_seen_at,
    lastSeenAt: reached ? row.cluster_seen_at : row.last_seen_at,
    unreachableSince: row.unreachable_since,
    placeable: row.placeable,
    liveAllocations: Number(row.live_allocations ?? 0n),
    gpus,
  };
}

interface GpuRow extends Omit<Selectable<Tables['gpus']>, 'first_seen_at'> {
  external_id: string | null;
}

async function readGpus(reader: Reader, nodeIds: readonly string[]): Promise<Map<string, NodeGpu[]>> {
  const { rows } = await sql<GpuRow>`
    select ${gpuColumns}, gpu.state_reason, allocation.external_id
      from gpus as gpu
      left join allocated_gpus as sold on sold.gpu_id = gpu.id and sold.released_at is null
      left join allocations as allocation on allocation.id = sold.allocation_id
     where gpu.node_id = any (${nodeIds}::uuid[]) and gpu.state <> 'replaced'
     order by gpu.node_id, gpu.pci_address
  `.execute(reader.kysely);
  const byNode = new Map<string, NodeGpu[]>(nodeIds.map((id) => [id, []]));
  for (const row of rows) {
    const { state_reason: stateReason, external_id: allocatedTo } = row;
    byNode.get(row.node_id)?.push({ ...toGpuFacts(row), stateReason, allocatedTo });
  }
  return byNode;
}

/** The columns that `toGpuFacts` reads, from a table aliased `gpu`. */
export const gpuColumns = sql`gpu.id, gpu.node_id, gpu.pci_address, gpu.device_uuid, gpu.model, gpu.gpu_type, gpu.ram_mb,
  gpu.numa_node, gpu.state`;

export type GpuFactsRow = Omit<Selectable<Tables['gpus']>, 'state_reason' | 'first_seen_at'>;

export function toGpuFacts(row: GpuFactsRow): GpuFacts {
  return {
    id: fromUuid('gpu', row.id),
    pciAddress: row.pci_address,
    deviceUuid: row.device_uuid,
    model: row.model,
    gpuType: row.gpu_type,
    ramMb: row.ram_mb,
    numaNode: row.numa_node,
    state: row.state,
  };
}

async function withGpus(reader: Reader, rows: readonly NodeRow[]): Promise<readonly NodeRecord[]> {
  if (rows.length === 0) return [];
  const ids = rows.map((row) => row.id);
  const gpus = await readGpus(reader, ids);
  return rows.map((row) => toRecord(row, gpus.get(row.id) ?? []));
}

/** Includes removed nodes. */
export async function findNode(reader: Reader, id: NodeId): Promise<NodeRecord | null> {
  const rows = await nodesQuery(reader).where('node.id', '=', toUuid(id)).execute();
  const [node] = await withGpus(reader, rows);
  return node ?? null;
}

/** Includes removed nodes. */
export async function findNodes(
  reader: Reader,
  ids: readonly NodeId[],
): Promise<ReadonlyMap<NodeId, NodeRecord>> {
  if (ids.length === 0) return new Map();
  const rows = await nodesQuery(reader).where('node.id', 'in', ids.map(toUuid)).execute();
  const nodes = await withGpus(reader, rows);
  return new Map(nodes.map((node) => [node.id, node]));
}

/** Sorted by id, one row more than the limit. Without removed nodes unless the filter requests them. */
export async function listNodes(
  reader: Reader,
  filter: NodeFilter,
  page: FleetPageRequest<NodeId>,
): Promise<readonly NodeRecord[]> {
  const { clusterId, status, name } = filter;
  let query = nodesQuery(reader)
    .orderBy('node.id')
    .limit(page.limit + 1);
  query =
    status === undefined
      ? query.where('node.status', '<>', 'node_removed')
      : query.where('node.status', '=', status);
  if (clusterId !== undefined) query = query.where('node.cluster_id', '=', toUuid(clusterId));
  if (name !== undefined) query = query.where('node.name', '=', name);
  if (page.after !== null) query = query.where('node.id', '>', toUuid(page.after));
  return withGpus(reader, await query.execute());
}

/** Takes the locks that placement takes, in order of id, so nothing is placed on these nodes meanwhile. */
export async function lockCapacity(tx: Tx, ids: readonly NodeId[]): Promise<void> {
  if (ids.length === 0) return;
  await sql`
    select 1 from node_capacity where node_id = any (${ids.map(toUuid)}::uuid[])
     order by node_id for no key update
  `.execute(tx.kysely);
}

export async function lockClusterCapacity(tx: Tx, id: ClusterId): Promise<void> {
  await sql`
    select 1 from node_capacity where cluster_id = ${toUuid(id)} order by node_id for no key update
  `.execute(tx.kysely);
}

export interface NodeWithCluster {
  readonly record: NodeRecord;
  readonly clusterConnected: boolean;
}

export async function readNodeWithCluster(tx: Tx, id: NodeId): Promise<NodeWithCluster | null> {
  const record = await findNode(tx, id);
  if (record === null) return null;
  const { status } = await tx.kysely
    .selectFrom('clusters')
    .select('status')
    .where('id', '=', toUuid(record.clusterId))
    .executeTakeFirstOrThrow();
  return { record, clusterConnected: status === 'connected' };
}

interface TransitionedRow {
  id: string;
  to_status: MachineState;
  status_reason: string | null;
  reason: string;
  cluster_name: string;
  region: string;
  mode: Mode;
  supplier_org_id: string | null;
}

/** The caller holds the locks of `lockCapacity` and has read the states under them. */
export async function applyNodeTransitions(
  tx: Tx,
  moves: readonly NewNodeTransition[],
  cause: { readonly actor: Actor; readonly at: Date },
): Promise<void> {
  if (moves.length === 0) return;
  const rows = JSON.stringify(moves.map(toTransitionRow));
  const { rows: moved } = await sql<TransitionedRow>`
    with move as (
      select * from json_to_recordset(${rows}::json) as move
        (node_id uuid, from_status text, to_status text, reason text, status_reason text, back_to text,
         drain_deadline_at timestamptz)
    ), moved as (
      update nodes as node
         set status = move.to_status, status_reason = move.status_reason, status_since = ${cause.at},
             back_to = move.back_to, drain_deadline_at = move.drain_deadline_at, transitions = node.transitions + 1,
             hardware_digest = case when move.to_status = 'node_registering' then null else node.hardware_digest end
        from move
       where node.id = move.node_id and node.status = move.from_status
      returning node.id, node.name, node.cluster_id, node.transitions, move.from_status, move.to_status, move.reason,
                move.status_reason
    ), noted as (
      insert into node_transitions (node_id, seq, from_status, to_status, reason, actor, at)
      select id, transitions, from_status, to_status, reason, ${actorText(cause.actor)}, ${cause.at} from moved
    ), shown as (
      update node_capacity as capacity set ready = (moved.to_status = 'node_ready')
        from moved
       where capacity.node_id = moved.id and capacity.ready <> (moved.to_status = 'node_ready')
    )
    select moved.id, moved.name, moved.to_status, moved.status_reason, moved.reason, cluster.name as cluster_name,
           capacity.region, capacity.mode, cluster.supplier_org_id
      from moved
      join clusters as cluster on cluster.id = moved.cluster_id
      join node_capacity as capacity on capacity.node_id = moved.id
  `.execute(tx.kysely);
  const missed = moves.length - moved.length;
  if (missed !== 0) throw new Error(`${missed} nodes changed status without a lock on their capacity rows.`);
  const events = moved.flatMap((row) => nodeEvents(row, cause));
  await appendOutboxBatch(tx, events);
}

function toTransitionRow(move: NewNodeTransition) {
  return {
    node_id: toUuid(move.nodeId),
    from_status: move.from,
    to_status: move.to,
    reason: move.reason,
    status_reason: move.statusReason,
    back_to: move.backTo,
    drain_deadline_at: move.drainDeadlineAt?.toISOString() ?? null,
  };
}

function nodeEvents(row: TransitionedRow, cause: { readonly actor: Actor; readonly at: Date }): EventEntry[] {
  const type = ownerEventFor(row.to_status);
  if (type === null || row.supplier_org_id === null) return [];
  return [
    {
      kind: 'event',
      type,
      orgId: fromUuid('org', row.supplier_org_id),
      mode: row.mode,
      actor: cause.actor,
      resource: { kind: 'machine', id: fromUuid('nod', row.id) },
      data: {
        machineId: fromUuid('nod', row.id),
        clusterName: row.cluster_name,
        region: row.region,
        reason: row.to_status === 'node_ready' ? row.status_reason : row.reason,
      },
      occurredAt: cause.at,
    },
  ];
}

/** Emits events about new nodes to the supplier that owns the cluster. */
export async function emitNewNodeEvents(
  tx: Tx,
  cluster: ClusterRecord,
  nodes: readonly {
    readonly id: NodeId;
    readonly status: MachineState;
    readonly statusReason: string | null;
  }[],
  cause: { readonly actor: Actor; readonly at: Date },
): Promise<void> {
  if (cluster.supplierOrgId === null) return;
  const shared = {
    cluster_name: cluster.name,
    region: cluster.region,
    mode: cluster.mode,
    supplier_org_id: toUuid(cluster.supplierOrgId),
  };
  const entries = nodes.flatMap(({ id, status, statusReason }) => {
    const reasons = { status_reason: statusReason, reason: statusReason ?? 'no reason given' };
    return nodeEvents({ ...shared, id: toUuid(id), to_status: status, ...reasons }, cause);
  });
  await appendOutboxBatch(tx, entries);
}

/** Sets the status that an offline node gets on return, and the deadline of a drain. */
export async function setReturnStatus(
  tx: Tx,
  id: NodeId,
  change: { readonly backTo: string; readonly statusReason: string; readonly drainDeadlineAt: Date | null },
): Promise<void> {
  await sql`
    update nodes set back_to = ${change.backTo}, status_reason = ${change.statusReason},
           drain_deadline_at = ${change.drainDeadlineAt}
     where id = ${toUuid(id)} and status = 'node_offline'
  `.execute(tx.kysely);
}
