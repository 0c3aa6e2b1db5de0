import { randomInt } from 'node:crypto';
import type { Tx } from '@millrace/platform/db';
import { Fault, isFault } from '@millrace/platform/fault';
import type { NodeId } from '@millrace/platform/ids';
import { findPlacement, insertAllocation } from './allocations.store.ts';
import { isObservedSince } from '../inventory/cluster-observation.ts';
import {
  chooseGpus,
  choosePorts,
  rankFabrics,
  type FabricCandidate,
  type PlacedNode,
  type Placement,
  type PlacementRequest,
} from './placement.ts';
import {
  FABRIC_SAMPLE,
  findBestNode,
  rollbackToSavepoint,
  lockBestNode,
  lockGang,
  lockNodeAndWait,
  savepoint,
  sleepBeforeRetry,
  readFabrics,
  readLockedNodes,
  SPREAD_BOUND,
  raiseSerializationFailure,
  type UsabilityCheck,
  type LockedNode,
} from './placement.store.ts';

/** Clusters without a heartbeat for this long sell nothing, because their engine may have failed. */
export const OBSERVATION_MAX_AGE_MS = 5 * 60_000;

/** Each retry means that another placement won, so this many in a row is an overload: the caller gets a 503. */
const MAX_ATTEMPTS = 64;

/** Fabrics that a gang tries without waiting for locks, before it waits for the best one. */
const FABRICS_TRIED = 4;

export interface PlacementDeps {
  /** Start position among equal nodes and among ports: an integer from 0 to below the bound. */
  readonly random: (bound: number) => number;
}

const systemTools: PlacementDeps = { random: (bound) => randomInt(bound) };

/**
 * Allocates GPUs and ports for one machine in the caller's transaction. Idempotent: a machine with a live allocation
 * gets the same one.
 *
 * Throws 400 `INSUFFICIENT_CAPACITY` only after every node that could fit was tried or waited for. It locks several
 * `node_capacity` rows in order of id, so callers must take ledger locks afterwards, never before.
 */
export async function place(tx: Tx, request: PlacementRequest, tools = systemTools): Promise<Placement> {
  const nodes = await lockNodesForPlacement(tx, request, tools);
  if (isFault(nodes)) {
    // The search finds nothing for a machine that is already placed, so only failed searches need this query.
    const known = await findPlacement(tx, request.orgId, request.externalId);
    if (known !== null) return known;
    throw nodes;
  }
  const { externalId } = request;
  const placement: Placement = { allocationId: tx.ids.next('alc'), externalId, nodes };
  await insertAllocation(tx, request, placement);
  return placement;
}

async function lockNodesForPlacement(
  tx: Tx,
  request: PlacementRequest,
  tools: PlacementDeps,
): Promise<readonly PlacedNode[] | Fault> {
  const take = request.nodeCount === 1 ? lockOneNode : lockGangNodes;
  const state: SavepointState = { isMarked: false, isBurdened: false };
  let search: PlacementSearch = { request, fitness: null };
  let fault: Fault | undefined;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const outcome = await take(tx, search, tools, state);
    if (outcome === 'none') return fault ?? new Fault('INSUFFICIENT_CAPACITY');
    if (outcome !== 'lost' && !('why' in outcome)) return outcome;
    if (outcome !== 'lost') {
      if (search.fitness === null) fault = outcome.why;
      search = excludeNode(tx, search, outcome.nodeId);
    }
    await releaseUnusedLocks(tx, state);
  }
  if (state.isBurdened) await raiseSerializationFailure(tx);
  return new Fault('SERVICE_UNAVAILABLE', {
    message: 'Too many rentals are being placed on the same machines right now.',
    retryAfterSeconds: 1,
  });
}

/**
 * `isMarked`: a savepoint exists. `isBurdened`: a lock from before the savepoint is held, which only the end of the
 * transaction releases. A burdened placement takes free nodes and never waits, because two holders could deadlock. If
 * that fails for long, its transaction is run again and may wait.
 *
 * Most placements use the first node that they lock and need neither.
 */
interface SavepointState {
  isMarked: boolean;
  isBurdened: boolean;
}

/** Releases unused locks, or marks the transaction as burdened if it cannot. */
async function releaseUnusedLocks(tx: Tx, state: SavepointState): Promise<void> {
  if (state.isMarked) return rollbackToSavepoint(tx);
  state.isBurdened = true;
  await ensureSavepoint(tx, state);
}

async function ensureSavepoint(tx: Tx, state: SavepointState): Promise<void> {
  if (state.isMarked) return;
  await savepoint(tx);
  state.isMarked = true;
}

interface PlacementSearch {
  readonly request: PlacementRequest;
  /** Null until a locked node turned out to be unusable. */
  readonly fitness: UsabilityCheck | null;
}

/** Excludes an unusable node and checks the usability of all other nodes in the query from now on. */
function excludeNode(tx: Tx, { request }: PlacementSearch, nodeId: NodeId): PlacementSearch {
  const portsOf = (protocol: string): number =>
    request.ports.filter((port) => port.protocol === protocol).length;
  return {
    request: { ...request, except: [...request.except, nodeId] },
    fitness: {
      watchedSince: new Date(tx.clock.nowMs() - OBSERVATION_MAX_AGE_MS),
      tcpPorts: portsOf('tcp'),
      udpPorts: portsOf('udp'),
    },
  };
}

/** A node with enough free GPUs that cannot be used for another reason. */
interface UnusableNode {
  readonly nodeId: NodeId;
  readonly why: Fault;
}

/** `none`: no node fits. `lost`: another placement took the node between search and lock. */
type Attempt = readonly PlacedNode[] | UnusableNode | 'none' | 'lost';

async function lockOneNode(
  tx: Tx,
  { request, fitness }: PlacementSearch,
  tools: PlacementDeps,
  state: SavepointState,
): Promise<Attempt> {
  const search = { request: request, fitness, start: tools.random(SPREAD_BOUND) };
  const free = await lockBestNode(tx, search);
  if (free === 'changed') return 'lost';
  if (free !== 'none') return chooseGpusAndPorts(tx, request, [free], tools);
  const held = await findBestNode(tx, search);
  if (held === null) return 'none';
  await ensureSavepoint(tx, state);
  if (state.isBurdened) {
    await sleepBeforeRetry(tx);
    return 'lost';
  }
  // The transaction that holds the node may roll back, so capacity is refused only after waiting.
  const waited = await lockNodeAndWait(tx, request, held);
  return waited === null
    ? 'lost'
    : chooseGpusAndPorts(tx, request, await readLockedNodes(tx, [waited]), tools);
}

async function lockGangNodes(
  tx: Tx,
  { request, fitness }: PlacementSearch,
  tools: PlacementDeps,
  state: SavepointState,
): Promise<Attempt> {
  await ensureSavepoint(tx, state);
  const look = async (start: number, sample: number): Promise<readonly FabricCandidate[]> =>
    rankFabrics(await readFabrics(tx, request, fitness, { start, sample }), request.nodeCount);
  const sampled = await look(tools.random(SPREAD_BOUND), FABRIC_SAMPLE);
  const fabrics = sampled.length > 0 ? sampled : await look(0, SPREAD_BOUND);
  const [best] = fabrics;
  if (best === undefined) return 'none';
  for (const { fabricId } of fabrics.slice(0, FABRICS_TRIED)) {
    const locked = await lockGang(tx, request, fitness, { fabricId, whenHeld: 'skip' });
    if (locked.length === request.nodeCount)
      return chooseGpusAndPorts(tx, request, await readLockedNodes(tx, locked), tools);
    await rollbackToSavepoint(tx);
  }
  const locked = await lockGang(tx, request, fitness, { fabricId: best.fabricId, whenHeld: 'wait' });
  return locked.length < request.nodeCount
    ? 'lost'
    : chooseGpusAndPorts(tx, request, await readLockedNodes(tx, locked), tools);
}

function chooseGpusAndPorts(
  tx: Tx,
  request: PlacementRequest,
  nodes: readonly LockedNode[],
  { random }: PlacementDeps,
): Attempt {
  const placed: PlacedNode[] = [];
  for (const node of nodes) {
    const { nodeId } = node;
    if (!isObservedSince(node.watchedAt, tx.clock.now(), OBSERVATION_MAX_AGE_MS))
      return { nodeId, why: notObservedFault() };
    const gpus = chooseGpus(node.free, request.gpusPerNode);
    if (gpus === null) return { nodeId, why: miscountedFault(node) };
    const { portRange, takenPorts } = node;
    const ports =
      portRange === null ? [] : choosePorts(request.ports, takenPorts, portRange, random(SPREAD_BOUND));
    if (ports === null) return { nodeId, why: outOfPortsFault(nodeId) };
    placed.push({ nodeId, gpus, ports });
  }
  return placed;
}

function notObservedFault(): Fault {
  return new Fault('SERVICE_UNAVAILABLE', {
    message:
      'The machines of this region have not been checked for some minutes, so they cannot be rented now.',
    suggestion: 'Try again in a few minutes. The operator can check the state of the fleet.',
    retryAfterSeconds: 60,
  });
}

/** The lock is held, so the counts of the capacity row are wrong. */
function miscountedFault({ nodeId, free }: LockedNode): Fault {
  return new Fault('INSUFFICIENT_CAPACITY', {
    internal: `node ${nodeId} has ${free.length} free GPUs, but node_capacity counts more`,
  });
}

function outOfPortsFault(nodeId: NodeId): Fault {
  return new Fault('INSUFFICIENT_CAPACITY', {
    message: 'The machines with enough free GPUs have no ports left.',
    internal: `node ${nodeId} has no free port in its range`,
  });
}
