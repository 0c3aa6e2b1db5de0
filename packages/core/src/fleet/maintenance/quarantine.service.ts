import { isDriverError } from '@millrace/compute';
import type { Db, Tx } from '@millrace/platform/db';
import type { Actor } from '@millrace/platform/envelope';
import type { ClusterId, NodeId } from '@millrace/platform/ids';
import { transitionNode } from '../inventory/nodes.service.ts';
import { listNodes } from '../inventory/nodes.store.ts';

/** Quarantines nodes that an operator must check before anything is placed on them. */

interface QuarantineCause {
  readonly why: string;
  readonly actor: Actor;
}

/** The engine could not wipe the node. */
export async function quarantineUncleanNode(tx: Tx, nodeId: NodeId, cause: QuarantineCause): Promise<void> {
  const reason = `The node could not be wiped after its last tenant: ${cause.why}`;
  await transitionNode(tx, nodeId, 'node_quarantined', { reason, actor: cause.actor });
}

/** Like `quarantineUncleanNode`, by the engine's name of the node. */
export async function quarantineUncleanNodeByName(
  db: Db,
  node: { readonly clusterId: ClusterId; readonly nodeName: string },
  cause: QuarantineCause,
): Promise<void> {
  const { clusterId, nodeName: name } = node;
  const [known] = await listNodes(db, { clusterId, name }, { limit: 1, after: null });
  if (known === undefined) return;
  await db.transaction({ name: 'quarantine unclean node', isolation: 'read committed' }, (tx) =>
    quarantineUncleanNode(tx, known.id, cause),
  );
}

/** The node runs a machine that a restored database does not contain, so its GPUs are in use. */
export async function quarantineNodeWithUnknownMachine(
  db: Db,
  { clusterId, nodeName: name }: { readonly clusterId: ClusterId; readonly nodeName: string },
  actor: Actor,
): Promise<void> {
  const [known] = await listNodes(db, { clusterId, name }, { limit: 1, after: null });
  if (known === undefined) return;
  const reason = 'The node runs a machine that is missing in the restored database.';
  await db.transaction({ name: 'quarantine node after restore', isolation: 'read committed' }, (tx) =>
    transitionNode(tx, known.id, 'node_quarantined', { reason, actor }),
  );
}

/** Whether the engine reported that the node is used by something else. The next placement on it would fail too. */
export function isNodeInUse(error: unknown): boolean {
  return isDriverError(error, 'no_capacity');
}

/** Only for machines that are still wanted: an engine also refuses machines that were terminated. */
export async function quarantineNodeInUse(tx: Tx, nodeId: NodeId, cause: QuarantineCause): Promise<void> {
  const reason = `The engine uses the node for something else: ${cause.why}`;
  await transitionNode(tx, nodeId, 'node_quarantined', { reason, actor: cause.actor });
}
