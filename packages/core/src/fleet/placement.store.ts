import { defineStatement, runStatement, type PreparedStatement, type Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type FabricId, type NodeId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import type { Candidate, FabricCandidate, FreeGpu, PlacementNeed, PlacementWish } from './placement.ts';

/** All SQL that looks for nodes with room and locks them. */

/** Random starting points are below this, as `node_capacity.spread` is. */
export const SPREAD_BOUND = 2_147_483_647;

/** Enough to find a free one among nodes that others hold at this moment, and few enough to cost little. */
const CANDIDATES = 16;

/** Of each number of free GPUs: more than one, so that some can be held by others; few, so that tight fits come first. */
const CANDIDATES_OF_A_KIND = 8;

/** Idle nodes looked at on either side of the starting point, to find fabrics for a gang, before all of them are. */
export const FABRIC_SAMPLE = 64;

/** Fabrics with more idle nodes than this, and than the gang needs, are all large: which is the larger is not worth a count. */
const IDLE_NODES_COUNTED = 128;

/**
 * What is asked of a node beyond its row of `node_capacity`. It takes more to look up, so it is asked only after a node
 * was found unfit: then for all nodes at once, since a whole cluster that nobody watches may stand first.
 */
export interface Fitness {
  readonly watchedSince: Date;
  readonly tcpPorts: number;
  readonly udpPorts: number;
}

/**
 * A value that the planner does not see. It would otherwise find that it can plan a little better for this value than
 * for any, and plan each placement anew, which takes twice as long as finding the nodes.
 */
const unseen = (place: number, type: 'text' | 'int' | 'timestamptz'): string => `(select $${place}::${type})`;

// $1 to $8 are the need; then comes what a statement asks besides, then the fitness.
const pool = `
      capacity.placeable and capacity.mode = ${unseen(1, 'text')} and capacity.offer = ${unseen(2, 'text')}
        and capacity.region = ${unseen(3, 'text')} and capacity.gpu_type = ${unseen(4, 'text')}
        and capacity.connection_type = ${unseen(5, 'text')}`;
const needed = `${pool}
        and (${unseen(6, 'int')} is null or capacity.cuda >= ${unseen(6, 'int')})
        and capacity.node_id <> all ($7::uuid[])`;

// A machine that has its GPUs looks for none, so that nobody has to ask for them first.
const unplaced = `not exists (
          select from allocations as allocation
           where allocation.external_id = (select $9::uuid) and allocation.state = 'live')`;

const freePorts = (protocol: string): string => `
              cluster.port_last - cluster.port_first + 1 - (
                select count(*) from allocated_ports as port
                 where port.node_id = capacity.node_id and port.protocol = '${protocol}' and port.released_at is null
                   and port.external_port between cluster.port_first and cluster.port_last)`;

const fitFrom = (first: number): string => `
        and exists (
          select from clusters as cluster
           where cluster.id = capacity.cluster_id and cluster.beat_at >= ${unseen(first, 'timestamptz')}
             and ${freePorts('tcp')} >= ${unseen(first + 1, 'int')}
             and ${freePorts('udp')} >= ${unseen(first + 2, 'int')})`;

// A bare machine has one tenant: it is taken whole or not at all.
const whole = `(capacity.offer <> 'bare-metal' or (capacity.idle and capacity.gpus_total = ${unseen(8, 'int')}))`;
const holds = `capacity.gpus_free >= ${unseen(8, 'int')} and ${whole}`;

interface Variants {
  readonly quick: PreparedStatement;
  readonly thorough: PreparedStatement;
}

/** `values`: how many a statement takes before those of the fitness. */
function defineVariants(name: string, values: number, text: (matches: string) => string): Variants {
  return {
    quick: defineStatement(name, text(needed)),
    thorough: defineStatement(`${name}-fit`, text(needed + fitFrom(values + 1))),
  };
}

const candidateColumns =
  'capacity.node_id, capacity.gpus_free, capacity.gpus_total, capacity.largest_numa_free, capacity.spread';

// One descent of the index for each number of free GPUs and side of the starting point, however many nodes there are.
const candidatesStatements = defineVariants(
  'fleet-candidates',
  10,
  (matches) => `
  select candidate.node_id, candidate.gpus_free, candidate.gpus_total, candidate.largest_numa_free, candidate.spread
    from generate_series($8::int, case when $2 = 'bare-metal' then $8::int else (
           select max(capacity.gpus_free) from node_capacity as capacity where ${pool})::int end) as kind (gpus_free)
   cross join lateral (
     (select ${candidateColumns} from node_capacity as capacity
       where ${matches} and ${whole} and capacity.gpus_free = kind.gpus_free and capacity.spread >= ${unseen(10, 'int')}
       order by capacity.spread limit ${CANDIDATES_OF_A_KIND})
     union all
     (select ${candidateColumns} from node_capacity as capacity
       where ${matches} and ${whole} and capacity.gpus_free = kind.gpus_free and capacity.spread < ${unseen(10, 'int')}
       order by capacity.spread limit ${CANDIDATES_OF_A_KIND})) as candidate
   where ${unplaced}
   limit ${CANDIDATES}`,
);

const oneNodeStatements = defineVariants(
  'fleet-candidate-by-name',
  10,
  (matches) => `
  select ${candidateColumns} from node_capacity as capacity
   where ${matches} and ${holds} and capacity.node_id = $10 and ${unplaced}`,
);

interface CandidateRow {
  node_id: string;
  gpus_free: number;
  gpus_total: number;
  largest_numa_free: number;
  spread: number;
}

function needValues(need: PlacementNeed): readonly unknown[] {
  const { mode, offer, region, gpuType, connectionType, cuda, except, gpusPerNode } = need;
  return [mode, offer, region, gpuType, connectionType, cuda, except.map(toUuid), gpusPerNode];
}

/** The quick form of a statement, or where fitness is asked for the thorough one. */
function runVariant<Row>(
  tx: Tx,
  { quick, thorough }: Variants,
  values: readonly unknown[],
  fitness: Fitness | null,
): Promise<readonly Row[]> {
  if (fitness === null) return runStatement<Row>(tx, quick, values);
  const { watchedSince, tcpPorts, udpPorts } = fitness;
  return runStatement<Row>(tx, thorough, [...values, watchedSince, tcpPorts, udpPorts]);
}

/**
 * Nodes with enough free GPUs, tightest first, from a starting point in the order of `spread`; none for a machine that
 * has its GPUs. Nothing is locked.
 */
export async function readCandidates(
  tx: Tx,
  wish: PlacementWish,
  fitness: Fitness | null,
  start: number,
): Promise<readonly Candidate[]> {
  const variants = wish.only === null ? candidatesStatements : oneNodeStatements;
  const where = wish.only === null ? start : toUuid(wish.only);
  const values = [...needValues(wish), wish.externalId, where];
  const rows = await runVariant<CandidateRow>(tx, variants, values, fitness);
  return rows.map((row) => ({
    nodeId: fromUuid('nod', row.node_id),
    gpusFree: row.gpus_free,
    gpusTotal: row.gpus_total,
    largestNumaFree: row.largest_numa_free,
    turn: row.spread >= start ? row.spread - start : row.spread - start + SPREAD_BOUND,
  }));
}

const idle = `capacity.gpus_free = ${unseen(8, 'int')} and capacity.idle and capacity.fabric_id is not null`;

const fabricsStatements = defineVariants(
  'fleet-fabrics',
  12,
  (matches) => `
  select seen.fabric_id, seen.turn, (
           select count(*)::int from (
             select from node_capacity as capacity
              where capacity.fabric_id = seen.fabric_id and capacity.idle and capacity.gpus_total = ${unseen(8, 'int')} and ${matches}
              limit ${unseen(12, 'int')}) as idle_node
         ) as idle_nodes
    from (
      select sample.fabric_id, min(sample.turn) as turn from (
        (select capacity.fabric_id, capacity.spread - ${unseen(10, 'int')} as turn from node_capacity as capacity
          where ${matches} and ${idle} and capacity.spread >= ${unseen(10, 'int')}
          order by capacity.spread limit ${unseen(11, 'int')})
        union all
        (select capacity.fabric_id, capacity.spread - ${unseen(10, 'int')} + ${SPREAD_BOUND}
           from node_capacity as capacity
          where ${matches} and ${idle} and capacity.spread < ${unseen(10, 'int')}
          order by capacity.spread limit ${unseen(11, 'int')})) as sample
       group by sample.fabric_id) as seen
   where ${unplaced}`,
);

interface FabricRow {
  fabric_id: string;
  turn: number;
  idle_nodes: number;
}

/**
 * Fabrics with idle nodes of this size, of those that a sample around the starting point touches; none for a machine
 * that has its GPUs.
 */
export async function readFabrics(
  tx: Tx,
  wish: PlacementWish,
  fitness: Fitness | null,
  look: { readonly start: number; readonly sample: number },
): Promise<readonly FabricCandidate[]> {
  const counted = Math.max(IDLE_NODES_COUNTED, wish.nodeCount);
  const values = [...needValues(wish), wish.externalId, look.start, look.sample, counted];
  const rows = await runVariant<FabricRow>(tx, fabricsStatements, values, fitness);
  return rows.map((row) => ({
    fabricId: fromUuid('fab', row.fabric_id),
    idleNodes: row.idle_nodes,
    turn: row.turn,
  }));
}

// What the look has found is asked again of the row as it is once it is locked: it may have changed in between.
const lockFreeStatement = defineStatement(
  'fleet-lock-free',
  `
  select capacity.node_id from node_capacity as capacity
   where capacity.node_id = any ($9::uuid[]) and ${needed} and ${holds}
   order by array_position($9::uuid[], capacity.node_id) limit 1
     for no key update of capacity skip locked`,
);

const lockWaitingStatement = defineStatement(
  'fleet-lock-waiting',
  `
  select capacity.node_id from node_capacity as capacity
   where capacity.node_id = $9 and ${needed} and ${holds}
     for no key update of capacity`,
);

/** Locks the first of the nodes that nobody else holds and that still has room. */
export async function lockFirstFree(
  tx: Tx,
  need: PlacementNeed,
  nodeIds: readonly NodeId[],
): Promise<NodeId | null> {
  const values = [...needValues(need), nodeIds.map(toUuid)];
  const [row] = await runStatement<{ node_id: string }>(tx, lockFreeStatement, values);
  return row === undefined ? null : fromUuid('nod', row.node_id);
}

/** Waits for whoever holds the node; null when it has no room left then. */
export async function lockWaiting(tx: Tx, need: PlacementNeed, nodeId: NodeId): Promise<NodeId | null> {
  const values = [...needValues(need), toUuid(nodeId)];
  const [row] = await runStatement<{ node_id: string }>(tx, lockWaitingStatement, values);
  return row === undefined ? null : fromUuid('nod', row.node_id);
}

const lockGangText = (matches: string): string => `
  select capacity.node_id from node_capacity as capacity
   where capacity.fabric_id = $9 and capacity.idle and capacity.gpus_total = ${unseen(8, 'int')} and ${matches}
   order by capacity.node_id limit ${unseen(10, 'int')}
     for no key update of capacity`;

const lockGangStatements = {
  wait: defineVariants('fleet-lock-gang', 10, lockGangText),
  skip: defineVariants('fleet-lock-free-gang', 10, (matches) => `${lockGangText(matches)} skip locked`),
};

/**
 * Locks idle nodes of the fabric in the order of their ids; fewer than asked when it has no more. Nodes that others
 * hold are waited for or passed over.
 */
export async function lockGang(
  tx: Tx,
  need: PlacementNeed,
  fitness: Fitness | null,
  from: { readonly fabricId: FabricId; readonly whenHeld: 'wait' | 'skip' },
): Promise<readonly NodeId[]> {
  const values = [...needValues(need), toUuid(from.fabricId), need.nodeCount];
  const variants = lockGangStatements[from.whenHeld];
  const rows = await runVariant<{ node_id: string }>(tx, variants, values, fitness);
  return rows.map((row) => fromUuid('nod', row.node_id));
}

/** What may be taken of a node whose lock is held. */
export interface LockedNode {
  readonly nodeId: NodeId;
  readonly free: readonly FreeGpu[];
  readonly takenPorts: ReadonlySet<string>;
  readonly portRange: { readonly first: number; readonly last: number };
  /** When somebody last looked whether the node's engine answers. */
  readonly watchedAt: Date | null;
}

interface LockedRow {
  node_id: string;
  port_first: number;
  port_last: number;
  beat_at: Date | null;
  gpus: readonly { id: string; pci: string; numa: number | null }[] | null;
  ports: readonly string[];
}

const lockedStatement = defineStatement(
  'fleet-locked-nodes',
  `select capacity.node_id, cluster.port_first, cluster.port_last, cluster.beat_at,
          (select jsonb_agg(jsonb_build_object('id', gpu.id, 'pci', gpu.pci_address, 'numa', gpu.numa_node))
             from gpus as gpu
            where gpu.node_id = capacity.node_id and gpu.state = 'present'
              and not exists (select from allocated_gpus as sold
                               where sold.gpu_id = gpu.id and sold.released_at is null)) as gpus,
          array(select port.protocol || ':' || port.external_port from allocated_ports as port
                 where port.node_id = capacity.node_id and port.released_at is null) as ports
     from node_capacity as capacity join clusters as cluster on cluster.id = capacity.cluster_id
    where capacity.node_id = any ($1::uuid[])
    order by capacity.node_id`,
);

/** A statement of its own after the lock: only so does it see what the one before us in the queue has taken. */
export async function readLocked(tx: Tx, nodeIds: readonly NodeId[]): Promise<readonly LockedNode[]> {
  const rows = await runStatement<LockedRow>(tx, lockedStatement, [nodeIds.map(toUuid)]);
  return rows.map((row) => ({
    nodeId: fromUuid('nod', row.node_id),
    free: (row.gpus ?? []).map((gpu) => ({
      gpuId: fromUuid('gpu', gpu.id),
      pciAddress: gpu.pci,
      numaNode: gpu.numa,
    })),
    takenPorts: new Set(row.ports),
    portRange: { first: row.port_first, last: row.port_last },
    watchedAt: row.beat_at,
  }));
}

/** A place to come back to: going back lets go of every lock taken since, also of those on rows that did not suit. */
export async function markPlace(tx: Tx): Promise<void> {
  await sql`savepoint before_nodes`.execute(tx.kysely);
}

export async function goBack(tx: Tx): Promise<void> {
  await sql`rollback to savepoint before_nodes`.execute(tx.kysely);
}
