import type { MachineState } from '@millrace/contract';
import type { Reader } from '@millrace/platform/db';
import { fromUuid, toUuid, type NodeId } from '@millrace/platform/ids';
import { sql, type RawBuilder } from 'kysely';
import type { NodeFault, NodeFaultKind } from './node-faults.store.ts';

/** SQL about transitions and faults of nodes. Fragments take the column with the node's id. */

/** Column: node_id. */
export function nodesWithFaultsSince(since: Date): RawBuilder<unknown> {
  return sql`(select node_id from node_faults where at > ${since})`;
}

export function hadFaultSince(column: string, since: Date): RawBuilder<boolean> {
  return sql<boolean>`exists (select from node_faults as fault where fault.node_id = ${sql.ref(column)} and fault.at > ${since})`;
}

/** Counts faults after the time in the column `since`, up to `to`. */
export function countFaults(
  of: { readonly node: string; readonly since: string },
  kind: NodeFaultKind,
  to: Date,
): RawBuilder<bigint> {
  return sql<bigint>`(select count(*) from node_faults as fault
             where fault.node_id = ${sql.ref(of.node)} and fault.at > ${sql.ref(of.since)} and fault.at <= ${to}
               and fault.kind = ${kind})`;
}

export function countOutages(column: string, since: Date): RawBuilder<bigint> {
  return sql<bigint>`(select count(*) from node_transitions as change
                      where change.node_id = ${sql.ref(column)} and change.to_status = 'node_offline'
                        and change.at > ${since})`;
}

/** Columns: at, kind, status, reason, seq. */
export function nodeHistory(column: string): RawBuilder<unknown> {
  return sql`(
        select at, 'state' as kind, to_status as status, reason, seq
          from node_transitions where node_id = ${sql.ref(column)}
        union all
        select at, case kind when 'start' then 'failed_start' else 'loss' end, null, reason, 0
          from node_faults where node_id = ${sql.ref(column)})`;
}

/** Oldest first. */
export async function listFaultsSince(reader: Reader, nodeId: NodeId, since: Date): Promise<NodeFault[]> {
  const { rows } = await sql<NodeFault>`
    select kind, at, reason from node_faults where node_id = ${toUuid(nodeId)} and at > ${since} order by at
  `.execute(reader.kysely);
  return rows;
}

export interface NodeStateChange {
  readonly from: MachineState | null;
  readonly to: MachineState;
  readonly at: Date;
}

/** Transitions to offline and out of quarantine, oldest first. */
export async function listOutagesAndReturns(db: Reader, nodeId: NodeId): Promise<readonly NodeStateChange[]> {
  const { rows } = await sql<NodeStateChange>`
    select from_status as from, to_status as to, at from node_transitions
     where node_id = ${toUuid(nodeId)} and (from_status = 'node_quarantined' or to_status = 'node_offline') order by seq
  `.execute(db.kysely);
  return rows;
}

/** Transitions of each node after its own time, oldest first. Nodes without transitions are left out. */
export async function readStateChangesSince(
  reader: Reader,
  nodes: readonly { readonly nodeId: NodeId; readonly since: Date }[],
): Promise<ReadonlyMap<NodeId, readonly NodeStateChange[]>> {
  const { rows } = await sql<NodeStateChange & { node_id: string }>`
    select change.node_id, change.from_status as from, change.to_status as to, change.at
      from unnest(${nodes.map(({ nodeId }) => toUuid(nodeId))}::uuid[],
                  ${nodes.map(({ since }) => since)}::timestamptz[]) as asked (node_id, since)
      join node_transitions as change on change.node_id = asked.node_id and change.at > asked.since
     order by change.node_id, change.seq
  `.execute(reader.kysely);
  const found = new Map<NodeId, NodeStateChange[]>();
  for (const { node_id: uuid, ...change } of rows) {
    const id = fromUuid('nod', uuid);
    const known = found.get(id) ?? [];
    known.push(change);
    found.set(id, known);
  }
  return found;
}
