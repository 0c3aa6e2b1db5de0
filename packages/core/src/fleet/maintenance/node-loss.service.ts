import type { Tx } from '@millrace/platform/db';
import type { NodeId } from '@millrace/platform/ids';
import { appendAuditEntry, type AuditContext } from '../../identity/index.ts';
import { releaseFromWindows } from './maintenance.store.ts';
import type { NodeRecord } from '../inventory/nodes.ts';
import { transitionNode } from '../inventory/nodes.service.ts';
import { findNode, lockCapacity, readNodeWithCluster } from '../inventory/nodes.store.ts';

/** Nodes whose host does not answer, and how one that never returns leaves the fleet. */

export interface NodeReachability {
  readonly node: NodeRecord;
  /** Whether its engine answers for it, as far as the fleet's observer knows. */
  readonly isAnswering: boolean;
}

export async function readNodeReachability(tx: Tx, nodeId: NodeId): Promise<NodeReachability | null> {
  const standing = await readNodeWithCluster(tx, nodeId);
  if (standing === null) return null;
  const { record: node, clusterConnected } = standing;
  const isAway = node.status === 'node_offline' || node.status === 'node_removed';
  return { node, isAnswering: !isAway && clusterConnected && node.unreachableSince === null };
}

/** Keeps a node out of use for as long as no operator puts it back; its maintenance windows let go of it. */
export async function quarantineLostNode(
  tx: Tx,
  cause: AuditContext,
  nodeId: NodeId,
  reason: string,
): Promise<NodeRecord> {
  await lockCapacity(tx, [nodeId]);
  const before = await findNode(tx, nodeId);
  if (before === null) throw new Error(`There is no node ${nodeId}.`);
  if (before.status === 'node_removed' || before.status === 'node_quarantined') return before;
  const { node } = await transitionNode(tx, nodeId, 'node_quarantined', { reason, actor: cause.actor });
  await releaseFromWindows(tx, nodeId, tx.clock.now());
  return node;
}

/**
 * Removes a written-off node from the fleet if nothing of it is allocated any more; else it stays quarantined. Its GPUs and
 * ports are no capacity from then on.
 */
export async function removeLostNode(
  tx: Tx,
  cause: AuditContext,
  nodeId: NodeId,
  reason: string,
): Promise<NodeRecord> {
  const before = await quarantineLostNode(tx, cause, nodeId, reason);
  if (before.status === 'node_removed' || before.liveAllocations > 0) return before;
  const { node } = await transitionNode(tx, nodeId, 'node_removed', { reason, actor: cause.actor });
  await appendAuditEntry(tx, null, cause, {
    action: 'node.written_off',
    resource: { kind: 'node', id: nodeId },
    before: { status: before.status },
    after: { status: node.status },
    reason,
  });
  return node;
}
