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

/** Availability that nobody has looked at for this long is not sold: the engine may have died unseen. */
export const OBSERVATION_MAX_AGE_MS = 5 * 60_000;

/**
 * How often a placement looks again after others took what it was about to take. Each time somebody else succeeded,
 * so this many in a row is a stampede, and it is told to come back.
 */
const MAX_ATTEMPTS = 64;

/** A gang looks for a fabric of which nobody holds nodes at this moment among so many before it waits for the best. */
const FABRICS_TRIED = 4;

export interface PlacementDeps {
  /** Where to begin in the order of equal nodes, and of a node's ports: a whole number from 0 to below the bound. */
  readonly random: (bound: number) => number;
}

const systemTools: PlacementDeps = { random: (bound) => randomInt(bound) };

/**
 * Takes exact GPUs for one machine, in the caller's transaction: until it commits nobody else can take them, and if it
 * rolls back they were never taken. Asked again for a machine that has its GPUs, it answers them.
 *
 * Throws 400 `INSUFFICIENT_CAPACITY` when there is no room, which is said only after every node that could have room
 * was looked at or waited for. It locks rows of `node_capacity`, in the order of their ids where it locks several, so
 * the caller takes the locks of the ledger after it, never before.
 */
export async function place(tx: Tx, request: PlacementRequest, tools = systemTools): Promise<Placement> {
  const nodes = await lockNodesForPlacement(tx, request, tools);
  if (isFault(nodes)) {
    // Nothing is found for a machine that has its GPUs already, so this is asked only of those who would be refused.
    const known = await findPlacement(tx, request.orgId, request.externalId);
    if (known !== null) return known;
    throw nodes;
  }
  const { externalId } = request;
  const placement: Placement = { allocationId: tx.ids.next('alc'), externalId, nodes };
  await insertAllocation(tx, request, placement);
  return placement;
}

/** Nodes with their locks held, or why there are none. */
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
    message: 'Too many rentals are being placed on the same machines at this moment.',
    retryAfterSeconds: 1,
  });
}

/**
 * Whether there is a place to go back to, and whether a lock is held from before it, which only the end of the
 * transaction lets go. Nearly all placements take the first node that they lock, and need neither. One that could not use
 * it is burdened: it takes what is free, and never waits, since two who hold something could wait for each other. If that
 * does not help for long, its transaction starts over, and may wait then like everybody else.
 */
interface SavepointState {
  isMarked: boolean;
  isBurdened: boolean;
}

/** Lets go of every lock that was taken and is not used, or remembers that it could not. */
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
  /** Null while no node was found unfit. */
  readonly fitness: UsabilityCheck | null;
}

/** After a node was found unfit: without it, and with the question whether the others are fit asked of all at once. */
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

/** A node with enough free GPUs that cannot be used all the same. Others are looked at first. */
interface UnusableNode {
  readonly nodeId: NodeId;
  readonly why: Fault;
}

/** `none`: no node has room. `lost`: one had, and others took it between the look and the lock. */
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
  // Its holder may yet roll back, so capacity is refused only after waiting.
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

/** Chooses GPUs and ports on nodes whose locks are held. */
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
    message: 'Nobody has looked at the machines of this region for some minutes, so none is sold.',
    suggestion: 'Try again in a few minutes; the operator can see the state of the fleet.',
    retryAfterSeconds: 60,
  });
}

/** Nobody else can have taken them, as the lock is held: the row says more than there is. */
function miscountedFault({ nodeId, free }: LockedNode): Fault {
  return new Fault('INSUFFICIENT_CAPACITY', {
    internal: `node ${nodeId} has ${free.length} free GPUs, and its row of node_capacity says more`,
  });
}

function outOfPortsFault(nodeId: NodeId): Fault {
  return new Fault('INSUFFICIENT_CAPACITY', {
    message: 'The machine that has room has no ports left to open.',
    internal: `node ${nodeId} has used up its range of ports`,
  });
}
