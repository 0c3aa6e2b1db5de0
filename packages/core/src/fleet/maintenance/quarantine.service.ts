import { isDriverError } from '@millrace/compute';
import type { Db, Tx } from '@millrace/platform/db';
import type { Actor } from '@millrace/platform/envelope';
import type { ClusterId, NodeId } from '@millrace/platform/ids';
import { transitionNode } from '../inventory/nodes.service.ts';
import { listNodes } from '../inventory/nodes.store.ts';

/** Nodes that nobody may be put on before a person has looked at them. */

interface QuarantineCause {
  readonly why: string;
  readonly actor: Actor;
}

/** It holds what its engine could not wipe. */
export async function quarantineUncleanNode(tx: Tx, nodeId: NodeId, cause: QuarantineCause): Promise<void> {
  const reason = `It could not be wiped after its last tenant: ${cause.why}`;
  await transitionNode(tx, nodeId, 'node_quarantined', { reason, actor: cause.actor });
}

/** The same of a node that is known by its engine's name alone. */
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

/** It runs a machine that a restored database does not know, so its GPUs are in use. */
export async function quarantineNodeWithUnknownMachine(
  db: Db,
  { clusterId, nodeName: name }: { readonly clusterId: ClusterId; readonly nodeName: string },
  actor: Actor,
): Promise<void> {
  const [known] = await listNodes(db, { clusterId, name }, { limit: 1, after: null });
  if (known === undefined) return;
  const reason = 'It runs a machine that the restored database does not know.';
  await db.transaction({ name: 'quarantine node after restore', isolation: 'read committed' }, (tx) =>
    transitionNode(tx, known.id, 'node_quarantined', { reason, actor }),
  );
}

/**
 * Whether an engine that was asked for a machine on a node of ours has said that the node is somebody else's, or is used for
 * something that we know nothing of. Whoever is placed there next would be told the same.
 */
export function isNodeInUse(error: unknown): boolean {
  return isDriverError(error, 'no_capacity');
}

/** Said of the machine that is still wanted there: one that was given up is refused for that alone. */
export async function quarantineNodeInUse(tx: Tx, nodeId: NodeId, cause: QuarantineCause): Promise<void> {
  const reason = `Its engine has given it away, or uses it for something else: ${cause.why}`;
  await transitionNode(tx, nodeId, 'node_quarantined', { reason, actor: cause.actor });
}
