import type { Inventory } from '@millrace/compute';
import type { Db, Tx } from '@millrace/platform/db';
import type { ClusterId, NodeId } from '@millrace/platform/ids';
import { lockOpen, refreshOpen } from './clusters.store.ts';
import type { ClusterRecord } from './clusters.ts';
import {
  isTouched,
  planNew,
  planNode,
  type KnownNode,
  type NewNode,
  type NodePlan,
  type ReadTimes,
} from './inventory-plan.ts';
import {
  ensureFabrics,
  insertNodes,
  readKnown,
  readKnownHardware,
  updateCapacity,
  updateNodes,
  writeGpus,
} from './inventory.store.ts';
import { checkInventory, type CheckedInventory, type ClusterDefaults, type SeenNode } from './inventory.ts';
import { announceNew, lockCapacity, lockClusterCapacity, writeMoves } from './nodes.store.ts';
import { boundedReason, syncActor, type BackTo, type NodeMove } from './nodes.ts';
import {
  boundPause,
  lockWatched,
  writeFinding,
  type LeaseTerms,
  type WatchedCluster,
} from './observer.store.ts';
import { judge } from './observer.ts';

/**
 * What a look at a cluster leads to: a read becomes rows, or silence is judged. Each is one transaction that begins by
 * locking the cluster and making sure that this observer still holds it, so an observer that was overtaken writes nothing.
 */

const isolation = 'read committed';

export interface ReadReport {
  readonly outcome: 'read';
  /** The cluster was not connected before. */
  readonly connected: boolean;
  readonly newNodes: number;
  readonly changedNodes: number;
  readonly moves: readonly NodeMove[];
  /** Nodes that were left out because their names cannot be kept. */
  readonly unnamed: number;
}

export interface SilenceReport {
  /** `silent`: just now. `waiting`: not long enough yet, or known already. */
  readonly outcome: 'silent' | 'waiting';
  readonly problem: string;
}

/** Another observer holds the cluster now, or nobody does. */
export interface LostReport {
  readonly outcome: 'lost';
}

/** What the engine reports becomes what is known. An inventory that cannot be believed counts as no answer. */
export async function applyRead(
  db: Db,
  cluster: ClusterRecord,
  inventory: Inventory,
  look: LookTerms,
): Promise<ReadReport | SilenceReport | LostReport> {
  // Outside the transaction: of a large cluster it takes a while.
  const checked = checkInventory(inventory, defaultsOf(cluster));
  if (!checked.ok) return applySilence(db, cluster.id, checked.problem, look);
  return db.transaction({ name: 'apply inventory', isolation }, async (tx) => {
    const terms = termsAt(tx, look);
    await boundPause(tx, terms.leaseMs);
    const watched = await lockWatched(tx, cluster.id, terms);
    return watched === null ? { outcome: 'lost' } : writeRead(tx, watched, checked, terms);
  });
}

export type LookTerms = Omit<LeaseTerms, 'now'> & { readonly silentMs: number };

function termsAt(tx: Tx, look: LookTerms): LookTerms & LeaseTerms {
  return { ...look, now: tx.clock.now() };
}

/** Nodes on a fast network of no name are on that of their cluster. */
function defaultsOf({ settings, connectionType }: ClusterRecord): ClusterDefaults {
  const { fabric } = settings;
  const named = typeof fabric === 'string' && fabric !== '' ? fabric.slice(0, 100) : null;
  return { connectionType, fabric: named ?? (connectionType === 'infiniband' ? 'default' : null) };
}

type Believed = Extract<CheckedInventory, { ok: true }>;

async function writeRead(
  tx: Tx,
  watched: WatchedCluster,
  checked: Believed,
  terms: LeaseTerms,
): Promise<ReadReport> {
  const { cluster, watch } = watched;
  const connected = cluster.status !== 'connected';
  const times: ReadTimes = { now: terms.now, watchingSince: watch.watchingSince };
  const seen = new Map(checked.nodes.map((node) => [node.name, node]));
  const known = await readKnown(tx, cluster.id);
  const fresh = newNodes(tx, known, checked.nodes, terms.now);

  // In this order everywhere: the cluster, the switches, then nodes by id.
  if (connected || fresh.length > 0) await lockOpen(tx);
  const touched = known.filter((node) => isTouched(node, seen.get(node.name), times)).map((node) => node.id);
  if (connected) await lockClusterCapacity(tx, cluster.id);
  else await lockCapacity(tx, touched);

  // Read again under the lock: an operator may have moved a node, or a placement sold a GPU, since.
  const plans = (await readKnownHardware(tx, touched)).map((node) =>
    planNode(node, seen.get(node.name), times),
  );
  await writePlans(tx, watched, { plans, fresh, now: terms.now });
  const finding = {
    status: 'connected',
    statusReason: null,
    seenAt: terms.now,
    engine: checked.engine,
  } as const;
  await writeFinding(tx, watched, finding, terms);
  if (connected || fresh.length > 0) await refreshOpen(tx, { clusterId: cluster.id });
  return {
    outcome: 'read',
    connected,
    newNodes: fresh.length,
    changedNodes: plans.length,
    moves: plans.flatMap(({ move }) => (move === null ? [] : [move])),
    unnamed: checked.unnamed,
  };
}

type FreshNode = NewNode & { readonly id: NodeId };

function newNodes(
  tx: Tx,
  known: readonly KnownNode[],
  seen: readonly SeenNode[],
  now: Date,
): readonly FreshNode[] {
  const names = new Set(known.map((node) => node.name));
  return seen
    .filter((node) => !names.has(node.name))
    .map((node) => ({ ...planNew(node, now), id: tx.ids.next('nod') }));
}

async function writePlans(
  tx: Tx,
  { cluster, watch }: WatchedCluster,
  changes: {
    readonly plans: readonly NodePlan[];
    readonly fresh: readonly FreshNode[];
    readonly now: Date;
  },
): Promise<void> {
  const { plans, fresh, now } = changes;
  if (plans.length === 0 && fresh.length === 0) return;
  const named = [...plans, ...fresh].flatMap(({ hardware }) => hardware?.fabric ?? []);
  const fabrics = await ensureFabrics(tx, cluster.id, [...new Set(named)]);
  const cause = { actor: syncActor, at: now };
  await insertNodes(tx, cluster, fresh, { now, fabrics });
  await announceNew(tx, cluster, fresh, cause);
  await updateNodes(tx, plans, { now, seenBefore: watch.lastSeenAt });
  await updateCapacity(tx, plans, fabrics);
  const added = fresh.map(({ id, hardware }) => ({
    nodeId: id,
    gpuChanges: [],
    newGpus: hardware?.gpus ?? [],
  }));
  await writeGpus(tx, [...plans, ...added], now);
  await writeMoves(
    tx,
    plans.flatMap(({ move }) => (move === null ? [] : [move])),
    cause,
  );
}

/** The engine did not answer. Whether that makes it silent depends on how long somebody has been asking. */
export async function applySilence(
  db: Db,
  id: ClusterId,
  why: string,
  look: LookTerms,
): Promise<SilenceReport | LostReport> {
  const problem = boundedReason(why);
  return db.transaction({ name: 'judge cluster', isolation }, async (tx) => {
    const terms = termsAt(tx, look);
    await boundPause(tx, terms.leaseMs);
    const watched = await lockWatched(tx, id, terms);
    if (watched === null) return { outcome: 'lost' };
    const { cluster, watch } = watched;
    const verdict = judge(watch, terms.now, look.silentMs);
    const silenced = verdict === 'silent' && cluster.status !== 'silent';
    const status = silenced ? 'silent' : cluster.status;
    if (silenced) await lockOpen(tx);
    await writeFinding(tx, watched, { status, statusReason: problem, seenAt: null, engine: null }, terms);
    if (!silenced) return { outcome: 'waiting', problem };
    await lockClusterCapacity(tx, id);
    await refreshOpen(tx, { clusterId: id });
    const moves = (await readKnown(tx, id)).flatMap(silencedMove);
    await writeMoves(tx, moves, { actor: syncActor, at: terms.now });
    return { outcome: 'silent', problem };
  });
}

function silencedMove(node: KnownNode): readonly NodeMove[] {
  const { id, status } = node;
  if (status !== 'node_registering' && status !== 'node_ready' && status !== 'node_draining') return [];
  const reason = 'The engine of its cluster is silent';
  const backTo: BackTo = status;
  const drainDeadlineAt = status === 'node_draining' ? node.drainDeadlineAt : null;
  return [
    { nodeId: id, from: status, to: 'node_offline', reason, statusReason: reason, backTo, drainDeadlineAt },
  ];
}
