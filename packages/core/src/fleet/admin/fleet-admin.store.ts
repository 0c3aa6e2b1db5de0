import type { MachineState } from '@millrace/contract';
import type { Reader, Tx } from '@millrace/platform/db';
import {
  fromUuid,
  toUuid,
  type ClusterId,
  type GpuId,
  type NodeId,
  type OrgId,
} from '@millrace/platform/ids';
import { sql } from 'kysely';
import type { ClusterConnection, ClusterRecord, FleetPageRequest } from '../inventory/clusters.ts';
import type { GpuState } from '../inventory/nodes.ts';
import { lockClusterCapacity } from '../inventory/nodes.store.ts';

/** SQL of operator actions on the fleet. */

export type NewCluster = Omit<ClusterConnection, 'id'> &
  Pick<ClusterRecord, 'providerId' | 'region' | 'offer' | 'connectionType'>;

/** Inserts a supplier's or operator's cluster; returns null if the name is taken. */
export async function insertNewCluster(
  tx: Tx,
  fields: NewCluster,
  supplierId: OrgId | null,
): Promise<ClusterId | null> {
  const id = tx.ids.next('cls');
  const now = tx.clock.now();
  const { rows } = await sql<{ id: string }>`
    insert into clusters (id, name, provider_id, region, driver, endpoint, credential_ref, settings, offer,
                          connection_type, supplier_org_id, origin, status, status_since, created_at)
    values (${toUuid(id)}, ${fields.name}, ${fields.providerId}, ${fields.region}, ${fields.driver}, ${fields.endpoint},
            ${fields.credentialRef}, ${JSON.stringify(fields.settings)}, ${fields.offer}, ${fields.connectionType},
            ${supplierId === null ? null : toUuid(supplierId)}, ${supplierId === null ? 'operator' : 'supplier'},
            'connecting', ${now}, ${now})
    on conflict (name) where status <> 'removed' do nothing
    returning id
  `.execute(tx.kysely);
  return rows.length === 0 ? null : id;
}

/** The caller has locked the cluster. */
export async function setClusterRemoved(tx: Tx, id: ClusterId, reason: string): Promise<void> {
  const now = tx.clock.now();
  await sql`
    update clusters
       set status = 'removed', status_reason = ${reason}, status_since = ${now}, removed_at = ${now},
           observer = null, observer_until = null
     where id = ${toUuid(id)} and status <> 'removed'
  `.execute(tx.kysely);
}

export interface NodeInCluster {
  readonly id: NodeId;
  readonly status: MachineState;
  readonly isHeld: boolean;
}

/** Locks the capacity of all nodes of a cluster and reads whether they have allocations. */
export async function lockClusterNodes(tx: Tx, id: ClusterId): Promise<readonly NodeInCluster[]> {
  await lockClusterCapacity(tx, id);
  const { rows } = await sql<{ id: string; status: MachineState; is_held: boolean }>`
    select node.id, node.status,
           exists (select 1 from allocated_gpus as sold
                    where sold.node_id = node.id and sold.released_at is null) as is_held
      from nodes as node
     where node.cluster_id = ${toUuid(id)} and node.status <> 'node_removed'
     order by node.id
  `.execute(tx.kysely);
  return rows.map((row) => ({ id: fromUuid('nod', row.id), status: row.status, isHeld: row.is_held }));
}

/** For a node that is draining, or will be when it returns. */
export async function setDrainDeadline(tx: Tx, id: NodeId, deadlineAt: Date): Promise<void> {
  await tx.kysely
    .updateTable('nodes')
    .set({ drain_deadline_at: deadlineAt })
    .where('id', '=', toUuid(id))
    .execute();
}

/** The caller has locked the node. Returns the previous state; null if the node has no such GPU. */
export async function setGpuState(
  tx: Tx,
  nodeId: NodeId,
  gpuId: GpuId,
  change: { readonly from: readonly GpuState[]; readonly to: GpuState; readonly reason: string },
): Promise<GpuState | null> {
  const row = await tx.kysely
    .selectFrom('gpus')
    .select('state')
    .where('id', '=', toUuid(gpuId))
    .where('node_id', '=', toUuid(nodeId))
    .where('state', '<>', 'replaced')
    .executeTakeFirst();
  if (row === undefined) return null;
  if (!change.from.includes(row.state)) return row.state;
  await tx.kysely
    .updateTable('gpus')
    .set({ state: change.to, state_reason: change.reason })
    .where('id', '=', toUuid(gpuId))
    .execute();
  return row.state;
}

/** Makes the next poll apply the hardware again, even if the engine reports no change. */
export async function clearHardwareDigest(tx: Tx, id: NodeId): Promise<void> {
  await tx.kysely.updateTable('nodes').set({ hardware_digest: null }).where('id', '=', toUuid(id)).execute();
}

export interface NodeTransition {
  readonly seq: number;
  readonly from: MachineState | null;
  readonly to: MachineState;
  readonly reason: string;
  readonly actor: string;
  readonly at: Date;
}

/** Newest first, one row more than the limit. */
export async function listNodeTransitions(
  reader: Reader,
  id: NodeId,
  page: FleetPageRequest<number>,
): Promise<readonly NodeTransition[]> {
  let query = reader.kysely
    .selectFrom('node_transitions')
    .selectAll()
    .where('node_id', '=', toUuid(id))
    .orderBy('seq', 'desc')
    .limit(page.limit + 1);
  if (page.after !== null) query = query.where('seq', '<', page.after);
  const rows = await query.execute();
  return rows.map((row) => ({
    seq: row.seq,
    // Transitions are written from the same state table that responses are validated against.
    from: row.from_status as MachineState | null,
    to: row.to_status as MachineState,
    reason: row.reason,
    actor: row.actor,
    at: row.at,
  }));
}
