import type { Reader, Tx } from '@millrace/platform/db';
import { toUuid, type NodeId, type RentalId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import { boundedReason } from '../inventory/nodes.ts';

/** SQL about node faults. */

/** `start`: a machine failed to start. `loss`: a running machine was lost. */
export type NodeFaultKind = 'start' | 'loss';

export interface NodeFault {
  readonly kind: NodeFaultKind;
  readonly at: Date;
  /** Shown to the owner of the node, so it must not name a tenant. */
  readonly reason: string;
}

/** Call it in the transaction that ends the attempt or the rental. Idempotent. */
export async function recordNodeFaults(
  tx: Tx,
  nodeIds: readonly NodeId[],
  fault: { readonly kind: NodeFaultKind; readonly rentalId: RentalId; readonly reason: string },
): Promise<void> {
  if (nodeIds.length === 0) return;
  await sql`
    insert into node_faults (node_id, at, rental_id, kind, reason)
    select distinct node_id, ${tx.clock.now()}::timestamptz, ${toUuid(fault.rentalId)}::uuid, ${fault.kind},
           ${boundedReason(fault.reason)}
      from unnest(${nodeIds.map(toUuid)}::uuid[]) as node (node_id)
    on conflict do nothing
  `.execute(tx.kysely);
}

/** Newest first. */
export async function listNodeFaults(
  reader: Reader,
  nodeId: NodeId,
  options: { readonly since: Date; readonly limit: number },
): Promise<readonly NodeFault[]> {
  const { rows } = await sql<NodeFault>`
    select kind, at, reason from node_faults
     where node_id = ${toUuid(nodeId)} and at > ${options.since}
     order by at desc limit ${options.limit}
  `.execute(reader.kysely);
  return rows;
}
