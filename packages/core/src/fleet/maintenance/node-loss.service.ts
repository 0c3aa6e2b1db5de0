import type { Tx } from '@millrace/platform/db';
import type { NodeId } from '@millrace/platform/ids';
import { appendAuditEntry, type AuditContext } from '../../identity/index.ts';
import { releaseFromWindows } from './maintenance.store.ts';
import type { NodeRecord } from '../inventory/nodes.ts';
import { transitionNode } from '../inventory/nodes.service.ts';
import { findNode, lockCapacity, readNodeWithCluster } from '../inventory/nodes.store.ts';

/** Handles nodes whose host does not respond: quarantine, and removal of a node that was written off. */

export interface NodeReachability {
  readonly node: NodeRecord;
  /** Whether the node is reachable according to the last polls. */
  readonly isAnswering: boolean;
}

export async function readNodeReachability(tx: Tx, nodeId: NodeId): Promise<NodeReachability | null> {
  const standing = await readNodeWithCluster(tx, nodeId);
  if (standing === null) return null;
  const { record: node, clusterConnected } = standing;
  const isAway = node.status === 'node_offline' || node.status === 'node_removed';
  return { node, isAnswering: !isAway && clusterConnected && node.unreachableSince === null };
}

/** Quarantines a node until an operator resumes it, and releases it from its maintenance windows. */
export async function quarantineLostNode(
  tx: Tx,
  cause: AuditContext,
  nodeId: NodeId,
  reason: string,
): Promise<NodeRecord> {
  await lockCapacity(tx, [nodeId]);
  const before = await findNode(tx, nodeId);
  if (before === null) throw new Error(`Node ${nodeId} does not exist.`);
  if (before.status === 'node_removed' || before.status === 'node_quarantined') return before;
  const { node } = await transitionNode(tx, nodeId, 'node_quarantined', { reason, actor: cause.actor });
  await releaseFromWindows(tx, nodeId, tx.clock.now());
  return node;
}

/** Removes a written-off node with its capacity. The node stays quarantined while it has allocations. */
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
