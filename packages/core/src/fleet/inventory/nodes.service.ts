import type { MachineState } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import type { Actor } from '@millrace/platform/envelope';
import { Fault } from '@millrace/platform/fault';
import type { NodeId } from '@millrace/platform/ids';
import { boundedReason, decideTransition, type NodeRecord } from './nodes.ts';
import { lockCapacity, readNodeWithCluster, setReturnStatus, applyNodeTransitions } from './nodes.store.ts';

export interface TransitionOptions {
  readonly reason: string;
  readonly actor: Actor;
  readonly drainDeadlineAt?: Date | null;
}

export interface TransitionedNode {
  /** State before the transition, to distinguish a repeated request from a change. */
  readonly before: NodeRecord;
  readonly node: NodeRecord;
}

/**
 * Changes the status of a node, with its transition record, capacity row and supplier event. For an offline node, ready
 * and draining change only the return status.
 *
 * It takes placement's lock, so nothing new is placed on the node once a drain has committed. A transaction that also
 * calls `refreshOpenFlags` must call it first.
 */
export async function transitionNode(
  tx: Tx,
  nodeId: NodeId,
  to: MachineState,
  options: TransitionOptions,
): Promise<TransitionedNode> {
  await lockCapacity(tx, [nodeId]);
  const standing = await readNodeWithCluster(tx, nodeId);
  if (standing === null) throw new Fault('NODE_NOT_FOUND');
  const before = standing.record;
  const { status: from, backTo } = before;
  const hardwareRead = before.hardwareReadAt !== null;
  const reachable = before.unreachableSince === null && standing.clusterConnected;
  const decision = decideTransition({ status: from, backTo, hardwareRead, reachable }, to);
  if (decision.kind === 'refused') throw transitionFault(before, to);
  if (decision.kind === 'stay') return { before, node: before };
  if (to === 'node_removed' && before.liveAllocations > 0) throw new Fault('NODE_HAS_WORK');

  const reason = boundedReason(options.reason);
  const draining =
    decision.backTo === 'node_draining' || (decision.kind === 'move' && decision.to === 'node_draining');
  const drainDeadlineAt = draining ? (options.drainDeadlineAt ?? before.drainDeadlineAt) : null;
  if (decision.kind === 'later') {
    await setReturnStatus(tx, nodeId, { backTo: decision.backTo, statusReason: reason, drainDeadlineAt });
  } else {
    const statusReason = decision.to === 'node_ready' ? null : reason;
    const target = { to: decision.to, backTo: decision.backTo, drainDeadlineAt };
    const move = { nodeId, from, reason, statusReason, ...target };
    await applyNodeTransitions(tx, [move], { actor: options.actor, at: tx.clock.now() });
  }
  const after = await readNodeWithCluster(tx, nodeId);
  if (after === null) throw new Error(`Node ${nodeId} disappeared while it was locked.`);
  return { before, node: after.record };
}

function transitionFault(node: NodeRecord, to: MachineState): Fault {
  if (node.status === 'node_removed') return new Fault('NODE_NOT_FOUND');
  const unread = node.status === 'node_offline' && node.hardwareReadAt === null;
  return new Fault('INVALID_STATE_TRANSITION', {
    message: unread
      ? `The node is ${node.status} and its hardware was never read, so it cannot become ${to}. Quarantine it to keep it out of use.`
      : `The node is ${node.status} and cannot become ${to}.`,
  });
}
