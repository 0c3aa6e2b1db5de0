import type { Inventory } from '@millrace/compute';
import type { Db, Tx } from '@millrace/platform/db';
import type { ClusterId, NodeId } from '@millrace/platform/ids';
import { lockOpenFlags, refreshOpenFlags } from './clusters.store.ts';
import type { ClusterRecord } from './clusters.ts';
import { newestCudaVersion } from './cuda-images.ts';
import {
  isChangedBy,
  planNewNode,
  planNode,
  type StoredHardware,
  type StoredNode,
  type NewNode,
  type NodePlan,
  type ReadContext,
} from './inventory-plan.ts';
import {
  ensureFabrics,
  findDeviceLocations,
  insertNodes,
  readStoredNodes,
  readStoredHardware,
  updateCapacity,
  updateNodes,
  writeGpus,
} from './inventory.store.ts';
import {
  checkInventory,
  rejectedNode,
  withheldNode,
  type CheckedInventory,
  type ClusterDefaults,
  type ReportedNode,
} from './inventory.ts';
import { emitNewNodeEvents, lockCapacity, lockClusterCapacity, applyNodeTransitions } from './nodes.store.ts';
import { boundedReason, syncActor, type NewNodeTransition } from './nodes.ts';
import {
  setIdleInTransactionTimeout,
  lockObservedCluster,
  writePollOutcome,
  type LeaseTerms,
  type ObservedCluster,
} from './cluster-observation.store.ts';
import { silenceStatus } from './cluster-observation.ts';
import { listWithheldNodeNames } from './write-offs.store.ts';

/**
 * Stores the result of a poll: the inventory, or the lack of a response. Every transaction first locks the cluster and
 * checks the lease, so an observer that lost its lease writes nothing.
 */

const isolation = 'read committed';

/** Limits how long others wait for the locks, and keeps statements far below PostgreSQL's timeout. */
const NODES_PER_TRANSACTION = 1_000;

export interface InventoryResult {
  readonly outcome: 'read';
  /** True if this poll connected the cluster. */
  readonly connected: boolean;
  readonly newNodes: number;
  readonly changedNodes: number;
  readonly moves: readonly NewNodeTransition[];
  readonly unnamed: number;
}

export interface NoResponseResult {
  /** `silent`: the cluster became silent now. `waiting`: not silent long enough, or already silent. */
  readonly outcome: 'silent' | 'waiting';
  readonly problem: string;
}

export interface LeaseLostResult {
  readonly outcome: 'lost';
}

/** Stores an inventory. An implausible inventory counts as no response. */
export async function applyInventory(
  db: Db,
  cluster: ClusterRecord,
  inventory: Inventory,
  look: PollTerms,
): Promise<InventoryResult | NoResponseResult | LeaseLostResult> {
  // Outside the transaction, because checking a large cluster takes long.
  const checked = checkInventory(inventory, defaultsOf(cluster));
  if (!checked.ok) return applyNoResponse(db, cluster.id, checked.problem, look);
  let report: InventoryResult = { ...emptyInventoryResult, unnamed: checked.unnamed };
  let rest: PendingChanges | null = null;
  do {
    const before: PendingChanges | null = rest;
    const part: AppliedBatch | null = await db.transaction(
      { name: 'apply inventory', isolation },
      async (tx) => {
        const terms = termsAt(tx, look);
        await setIdleInTransactionTimeout(tx, terms.leaseMs);
        const watched = await lockObservedCluster(tx, cluster.id, terms);
        return watched === null ? null : writeInventory(tx, watched, { checked, rest: before }, terms);
      },
    );
    if (part === null) return { outcome: 'lost' };
    report = addResults(report, part.report);
    rest = part.rest;
  } while (rest.fresh.length > 0 || rest.touched.length > 0);
  return report;
}

const emptyInventoryResult: InventoryResult = {
  outcome: 'read',
  connected: false,
  newNodes: 0,
  changedNodes: 0,
  moves: [],
  unnamed: 0,
};

function addResults(one: InventoryResult, other: AppliedBatch['report']): InventoryResult {
  return {
    ...one,
    connected: one.connected || other.connected,
    newNodes: one.newNodes + other.newNodes,
    changedNodes: one.changedNodes + other.changedNodes,
    moves: [...one.moves, ...other.moves],
  };
}

export type PollTerms = Omit<LeaseTerms, 'now'> & { readonly silentMs: number };

function termsAt(tx: Tx, look: PollTerms): PollTerms & LeaseTerms {
  return { ...look, now: tx.clock.now() };
}

/** InfiniBand nodes without a fabric name share one fabric of their cluster. */
function defaultsOf({ settings, connectionType }: ClusterRecord): ClusterDefaults {
  const { fabric } = settings;
  const named = typeof fabric === 'string' && fabric !== '' ? fabric.slice(0, 100) : null;
  return {
    connectionType,
    fabric: named ?? (connectionType === 'infiniband' ? 'default' : null),
    cudaVersion: newestCudaVersion(settings),
  };
}

type ValidInventory = Extract<CheckedInventory, { ok: true }>;

/** Nodes that are not stored yet. All batches use the time of the same read. */
interface PendingChanges {
  readonly readAt: Date;
  /** Time of the previous response of the engine. */
  readonly seenBefore: Date | null;
  readonly fresh: readonly NewNodeRef[];
  readonly touched: readonly NodeId[];
}

interface AppliedBatch {
  readonly report: Omit<InventoryResult, 'outcome' | 'unnamed'>;
  readonly rest: PendingChanges;
}

async function writeInventory(
  tx: Tx,
  watched: ObservedCluster,
  read: { readonly checked: ValidInventory; readonly rest: PendingChanges | null },
  terms: LeaseTerms,
): Promise<AppliedBatch> {
  const { cluster, watch } = watched;
  const { checked } = read;
  const connected = cluster.status !== 'connected';
  const seen = new Map(checked.nodes.map((node) => [node.name, node]));
  const all = read.rest ?? (await findPendingChanges(tx, watched, seen, terms.now));
  const fresh = all.fresh.slice(0, NODES_PER_TRANSACTION);
  const touched = all.touched.slice(0, NODES_PER_TRANSACTION - fresh.length);
  const reading: ReadContext = { now: all.readAt, watchingSince: watch.watchingSince, offer: cluster.offer };

  // Lock order everywhere: the cluster, the open flags, then nodes by id.
  if (connected || fresh.length > 0) await lockOpenFlags(tx);
  if (connected) await lockClusterCapacity(tx, cluster.id);
  else await lockCapacity(tx, touched);

  // Read again under the lock: a node's status or allocations may have changed since.
  const known = await readStoredHardware(tx, touched);
  const believed = await rejectDuplicateDevices(tx, cluster, seen, { known, fresh });
  const plans = known.map((node) => planNode(node, believed(node.name), reading));
  const added = fresh.map(({ id, name }) => {
    const node = believed(name);
    if (node === undefined) throw new Error(`The node ${name} is new and was not reported.`);
    return { ...planNewNode(node, reading), id };
  });
  await writePlans(tx, cluster, { plans, fresh: added, now: all.readAt, seenBefore: all.seenBefore });
  const seenNow = { seenAt: all.readAt, engine: checked.engine };
  await writePollOutcome(tx, watched, { status: 'connected', statusReason: null, ...seenNow }, terms);
  if (connected || fresh.length > 0) await refreshOpenFlags(tx, { clusterId: cluster.id });
  return {
    report: {
      connected,
      newNodes: fresh.length,
      changedNodes: plans.length,
      moves: movesOf(plans),
    },
    rest: { ...all, fresh: all.fresh.slice(fresh.length), touched: all.touched.slice(touched.length) },
  };
}

type ReportedNodes = ReadonlyMap<string, ReportedNode>;

async function findPendingChanges(
  tx: Tx,
  { cluster, watch }: ObservedCluster,
  seen: ReportedNodes,
  now: Date,
): Promise<PendingChanges> {
  const known = await readStoredNodes(tx, cluster.id);
  const names = new Set(known.map((node) => node.name));
  const reading: ReadContext = { now, watchingSince: watch.watchingSince, offer: cluster.offer };
  // A supplier's daemon is one host: the one that joined. Other names that it reports are ignored.
  const room = cluster.supplierOrgId === null ? seen.size : Math.max(0, 1 - known.length);
  return {
    readAt: now,
    seenBefore: watch.lastSeenAt,
    fresh: [...seen.keys()]
      .filter((name) => !names.has(name))
      .slice(0, room)
      .map((name) => ({ name, id: tx.ids.next('nod') })),
    touched: known.filter((node) => isChangedBy(node, seen.get(node.name), reading)).map((node) => node.id),
  };
}

interface NewNodeRef {
  readonly id: NodeId;
  readonly name: string;
}

/** Rejects nodes with a device of another node: a machine renamed or in two clusters would be sold twice. */
async function rejectDuplicateDevices(
  tx: Tx,
  cluster: ClusterRecord,
  seen: ReportedNodes,
  nodes: { readonly known: readonly StoredHardware[]; readonly fresh: readonly NewNodeRef[] },
): Promise<(name: string) => ReportedNode | undefined> {
  const present = new Map(
    nodes.known.map(({ name, gpus }) => [
      name,
      new Set(gpus.flatMap((gpu) => (gpu.state === 'present' ? (gpu.deviceUuid ?? []) : []))),
    ]),
  );
  const claims = [...nodes.known, ...nodes.fresh].flatMap(({ name }) =>
    (seen.get(name)?.hardware?.gpus ?? []).flatMap(({ deviceUuid }) =>
      deviceUuid === null || present.get(name)?.has(deviceUuid) === true ? [] : [{ name, deviceUuid }],
    ),
  );
  const claimed = claims.map(({ deviceUuid }) => deviceUuid);
  const places = await findDeviceLocations(tx, claimed);
  // A node of this inventory that no longer reports the device has lost it.
  const taken = new Map(
    places
      .filter(({ clusterId, nodeName }) => clusterId !== cluster.id || !seen.get(nodeName)?.hardware)
      .map((place) => [place.deviceUuid, place]),
  );
  const withheld = nodes.fresh.length === 0 ? new Set<string>() : await listWithheldNodeNames(tx, cluster.id);
  const refused = new Map(
    claims.flatMap(({ name, deviceUuid }) => {
      const place = taken.get(deviceUuid);
      if (place === undefined) return [];
      // Suppliers read this reason; it must not name machines of other owners.
      const where =
        cluster.supplierOrgId === null
          ? `in the node ${place.nodeName} of the cluster ${place.clusterName}`
          : 'in another machine';
      const problem = `the GPU ${deviceUuid} is ${where}`;
      return [[name, rejectedNode(name, problem)] as const];
    }),
  );
  for (const { name } of nodes.fresh) {
    if (withheld.has(name))
      refused.set(name, withheldNode(name, 'Machines of the node were written off and might still run.'));
  }
  return (name) => refused.get(name) ?? seen.get(name);
}

function movesOf(plans: readonly NodePlan[]): readonly NewNodeTransition[] {
  return plans.flatMap(({ move }) => move ?? []);
}

async function writePlans(
  tx: Tx,
  cluster: ClusterRecord,
  changes: {
    readonly plans: readonly NodePlan[];
    readonly fresh: readonly (NewNode & { readonly id: NodeId })[];
    readonly now: Date;
    readonly seenBefore: Date | null;
  },
): Promise<void> {
  const { plans, fresh, now, seenBefore } = changes;
  if (plans.length === 0 && fresh.length === 0) return;
  const named = [...plans, ...fresh].flatMap(({ hardware }) => hardware?.fabric ?? []);
  const fabrics = await ensureFabrics(tx, cluster.id, [...new Set(named)]);
  const cause = { actor: syncActor, at: now };
  await insertNodes(tx, cluster, fresh, { now, fabrics });
  await emitNewNodeEvents(tx, cluster, fresh, cause);
  await updateNodes(tx, plans, { now, seenBefore });
  await updateCapacity(tx, plans, fabrics);
  const added = fresh.map((node) => ({
    nodeId: node.id,
    gpuChanges: [],
    newGpus: node.hardware?.gpus ?? [],
  }));
  await writeGpus(tx, [...plans, ...added], now);
  await applyNodeTransitions(tx, movesOf(plans), cause);
}

/** Records a poll without a response. The cluster becomes silent after `silentMs` of gap-free polling. */
export async function applyNoResponse(
  db: Db,
  id: ClusterId,
  why: string,
  look: PollTerms,
): Promise<NoResponseResult | LeaseLostResult> {
  const problem = boundedReason(why);
  return db.transaction({ name: 'judge cluster', isolation }, async (tx) => {
    const terms = termsAt(tx, look);
    await setIdleInTransactionTimeout(tx, terms.leaseMs);
    const watched = await lockObservedCluster(tx, id, terms);
    if (watched === null) return { outcome: 'lost' };
    const { cluster, watch } = watched;
    const result = silenceStatus(watch, terms.now, look.silentMs);
    const silenced = result === 'silent' && cluster.status !== 'silent';
    const status = silenced ? 'silent' : cluster.status;
    if (silenced) await lockOpenFlags(tx);
    await writePollOutcome(tx, watched, { status, statusReason: problem, seenAt: null, engine: null }, terms);
    if (!silenced) return { outcome: 'waiting', problem };
    await lockClusterCapacity(tx, id);
    await refreshOpenFlags(tx, { clusterId: id });
    const moves = (await readStoredNodes(tx, id)).flatMap(silenceTransition);
    await applyNodeTransitions(tx, moves, { actor: syncActor, at: terms.now });
    return { outcome: 'silent', problem };
  });
}

function silenceTransition(node: StoredNode): readonly NewNodeTransition[] {
  const { id: nodeId, status: from } = node;
  if (from !== 'node_registering' && from !== 'node_ready' && from !== 'node_draining') return [];
  const reason = 'The engine of the cluster does not respond';
  const drainDeadlineAt = from === 'node_draining' ? node.drainDeadlineAt : null;
  return [{ nodeId, from, to: 'node_offline', reason, statusReason: reason, backTo: from, drainDeadlineAt }];
}
