import type { Tx } from '@millrace/platform/db';
import type { NodeId } from '@millrace/platform/ids';
import { appendAudit, type Cause } from '../identity/index.ts';
import { leaveNode } from './maintenance.store.ts';
import type { NodeRecord } from './nodes.ts';
import { moveNode } from './nodes.service.ts';
import { findNode, lockCapacity, readStanding } from './nodes.store.ts';

/** Nodes whose host does not answer, and how one that never returns leaves the fleet. */

export interface Host {
  readonly node: NodeRecord;
  /** Whether its engine answers for it, as far as the fleet's observer knows. */
  readonly isAnswering: boolean;
}

export async function readHost(tx: Tx, nodeId: NodeId): Promise<Host | null> {
  const standing = await readStanding(tx, nodeId);
  if (standing === null) return null;
  const { record: node, clusterConnected } = standing;
  const isAway = node.status === 'node_offline' || node.status === 'node_removed';
  return { node, isAnswering: !isAway && clusterConnected && node.unreachableSince === null };
}

/** Keeps a node out of use for as long as no operator puts it back; its maintenance windows let go of it. */
export async function keepOutOfUse(
  tx: Tx,
  cause: Cause,
  nodeId: NodeId,
  reason: string,
): Promise<NodeRecord> {
  await lockCapacity(tx, [nodeId]);
  const before = await findNode(tx, nodeId);
  if (before === null) throw new Error(`There is no node ${nodeId}.`);
  if (before.status === 'node_removed' || before.status === 'node_quarantined') return before;
  const { node } = await moveNode(tx, nodeId, 'node_quarantined', { reason, actor: cause.actor });
  await leaveNode(tx, nodeId, tx.clock.now());
  return node;
}

/**
 * Removes a written-off node from the fleet if nothing of it is allocated any more; else it stays quarantined. Its GPUs and
 * ports are no capacity from then on.
 */
export async function retireNode(tx: Tx, cause: Cause, nodeId: NodeId, reason: string): Promise<NodeRecord> {
  const before = await keepOutOfUse(tx, cause, nodeId, reason);
  if (before.status === 'node_removed' || before.liveAllocations > 0) return before;
  const { node } = await moveNode(tx, nodeId, 'node_removed', { reason, actor: cause.actor });
  await appendAudit(tx, null, cause, {
    action: 'node.written_off',
    resource: { kind: 'node', id: nodeId },
    before: { status: before.status },
    after: { status: node.status },
    reason,
  });
  return node;
}
