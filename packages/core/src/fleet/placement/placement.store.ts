import { defineStatement, runStatement, type PreparedStatement, type Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type FabricId, type NodeId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import type { FabricCandidate, FreeGpu, PlacementRequirements, PlacementRequest } from './placement.ts';

/** SQL that finds nodes with enough free GPUs and locks them. */

/** Upper bound of random start positions and of `node_capacity.spread`. */
export const SPREAD_BOUND = 2_147_483_647;

/** Idle nodes sampled on either side of the start position to find fabrics, before all are read. */
export const FABRIC_SAMPLE = 64;

/** Beyond this number (and the gang's size) fabrics count as equally large. */
const IDLE_NODES_COUNTED = 128;

/**
 * Checks beyond `node_capacity`. They are slower, so they run only after a node turned out to be unusable, and then for
 * all nodes: a whole unobserved cluster may be first in the order.
 */
export interface UsabilityCheck {
  readonly watchedSince: Date;
  readonly tcpPorts: number;
  readonly udpPorts: number;
}

/** A parameter besides the requirements: its column in the row `wish`, and its type. */
type StatementParameter = readonly [name: string, type: 'uuid' | 'int' | 'timestamptz'];

const usabilityExtras: readonly StatementParameter[] = [
  ['watched_since', 'timestamptz'],
  ['tcp_ports', 'int'],
  ['udp_ports', 'int'],
];

/**
 * Hides the parameters from the planner in one row (`offset 0`). Otherwise PostgreSQL would plan each placement again
 * for its values, which takes longer than running it. One row is cheaper to set up than one per value.
 */
function requestRow(extras: readonly StatementParameter[], condition = 'true'): string {
  const rest = extras.map(([name, type], index) => `, $${9 + index}::${type} as ${name}`).join('');
  return `(
    select $1::text as mode, $2::text as offer, $3::text as region, $4::text as gpu_type, $5::text as connection_type,
           pool_of($1, $2, $3, $4, $5) as pool, $6::int as cuda, cast($7 as uuid[]) as except, $8::int as gpus${rest}
     where ${condition} offset 0) as wish`;
}

function requirementValues(need: PlacementRequirements): readonly unknown[] {
  const { mode, offer, region, gpuType, connectionType, cuda, except, gpusPerNode } = need;
  return [mode, offer, region, gpuType, connectionType, cuda, except.map(toUuid), gpusPerNode];
}

// Two pools may share a number in the index, so the columns are compared too.
const inPool = 'capacity.placeable and capacity.pool = wish.pool';
const pool = `${inPool} and capacity.mode = wish.mode and capacity.offer = wish.offer
        and capacity.region = wish.region and capacity.gpu_type = wish.gpu_type
        and capacity.connection_type = wish.connection_type`;
const needed = `${pool}
        and (wish.cuda is null or capacity.cuda >= wish.cuda) and capacity.node_id <> all (wish.except)`;

// An allocated machine finds no node, so callers need not check for an allocation first.
const unplaced = `not exists (
       select from allocations as allocation where allocation.external_id = $9::uuid and allocation.state = 'live')`;

// Ironic machines have their own address with all ports.
const mapsPorts = `(cluster.driver <> 'ironic')`;

const freePorts = (protocol: string): string => `
              cluster.port_last - cluster.port_first + 1 - (
                select count(*) from allocated_ports as port
                 where port.node_id = capacity.node_id and port.protocol = '${protocol}' and port.released_at is null
                   and port.external_port between cluster.port_first and cluster.port_last)`;

const usable = `
        and exists (
          select from clusters as cluster
           where cluster.id = capacity.cluster_id and cluster.beat_at >= wish.watched_since
             and (not ${mapsPorts}
                  or (${freePorts('tcp')} >= wish.tcp_ports and ${freePorts('udp')} >= wish.udp_ports)))`;

// A bare-metal machine has one tenant, so it is allocated as a whole.
const whole = `(capacity.offer <> 'bare-metal' or (capacity.idle and capacity.gpus_total = wish.gpus))`;
const hasFreeGpus = `capacity.gpus_free >= wish.gpus and ${whole}`;

interface Variants {
  readonly quick: PreparedStatement;
  readonly full: PreparedStatement;
}

/** Defines a statement without and with the usability check. */
function defineVariants(
  name: string,
  extras: readonly StatementParameter[],
  text: (matches: string, row: (condition?: string) => string) => string,
): Variants {
  const withFitness = [...extras, ...usabilityExtras];
  return {
    quick: defineStatement(
      name,
      text(needed, (condition) => requestRow(extras, condition)),
    ),
    full: defineStatement(
      `${name}-fit`,
      text(needed + usable, (condition) => requestRow(withFitness, condition)),
    ),
  };
}

function runVariant<Row>(
  tx: Tx,
  { quick, full }: Variants,
  values: readonly unknown[],
  fitness: UsabilityCheck | null,
): Promise<readonly Row[]> {
  if (fitness === null) return runStatement<Row>(tx, quick, values);
  const { watchedSince, tcpPorts, udpPorts } = fitness;
  return runStatement<Row>(tx, full, [...values, watchedSince, tcpPorts, udpPorts]);
}

const mostFree = `(
         select capacity.gpus_free from node_capacity as capacity
          where ${inPool} and capacity.gpus_free >= wish.gpus order by capacity.gpus_free desc limit 1)`;

/**
 * Nodes that fit, best first: the fewest free GPUs, so that whole nodes stay free; then GPUs on one NUMA node, again
 * the fewest; then the order of `spread` from a start position, so that concurrent placements choose different nodes.
 *
 * Each step is one index descent. Lateral joins run the steps in this order and only as far as rows are read; an `order
 * by` would read all nodes.
 */
const byFit = (matches: string, row: string): string => `
      select node.node_id, node.cluster_id, node.version
        from ${row}
       cross join lateral generate_series(
         wish.gpus, case when wish.offer = 'bare-metal' then wish.gpus else ${mostFree} end) as kind (gpus_free)
       cross join lateral generate_series(0, 2 * kind.gpus_free - 1) as step (number)
       cross join lateral (
         select capacity.node_id, capacity.cluster_id, capacity.xmin as version from node_capacity as capacity
          where ${matches} and ${whole} and capacity.gpus_free = kind.gpus_free
            and capacity.largest_numa_free = 1 + (wish.gpus - 1 + (step.number >> 1)) % kind.gpus_free
            and capacity.spread >= case step.number & 1 when 0 then wish.start else 0 end
            and capacity.spread < case step.number & 1 when 0 then ${SPREAD_BOUND} else wish.start end
          order by capacity.spread) as node`;

const byName = (matches: string, row: string): string => `
      select capacity.node_id, capacity.cluster_id, capacity.xmin as version
        from ${row} join node_capacity as capacity on ${matches} and ${hasFreeGpus} and capacity.node_id = wish.only`;

/** The free GPUs and used ports of a node. */
const ofNode = (node: string): string => `
         array(select concat_ws(' ', gpu.id, gpu.pci_address, gpu.numa_node) from gpus as gpu
                where gpu.node_id = ${node} and gpu.state = 'present'
                  and gpu.id <> all (array(select sold.gpu_id from allocated_gpus as sold
                                            where sold.node_id = ${node} and sold.released_at is null))) as gpus,
         array(select port.protocol || ':' || port.external_port from allocated_ports as port
                where port.node_id = ${node} and port.released_at is null) as ports`;

type SearchText = typeof byFit;

// Locks only the first unlocked node, by id, so no row is locked and then filtered out. The row version says whether it
// changed since the search; then everything that was read is outdated. The cluster is joined after the lock: the other
// way round would lock a node of each cluster.
const lockNodeText =
  (search: SearchText) =>
  (matches: string, row: (condition?: string) => string): string =>
    `
  select locked.node_id, locked.is_current, ${mapsPorts} as maps_ports, cluster.port_first, cluster.port_last, cluster.beat_at,
         ${ofNode('locked.node_id')}
    from (
      select found.node_id, found.cluster_id, found.version = held.version as is_current
        from (${search(matches, row(unplaced))}) as found
       cross join lateral (
         select capacity.xmin as version from node_capacity as capacity where capacity.node_id = found.node_id
            for no key update skip locked) as held
       limit 1) as locked
   cross join lateral (
     select * from clusters where clusters.id = locked.cluster_id offset 0) as cluster`;

const findNodeText =
  (search: SearchText) =>
  (matches: string, row: (condition?: string) => string): string =>
    `
  select found.node_id from (${search(matches, row(unplaced))}) as found limit 1`;

const anyNodeParameters: readonly StatementParameter[] = [
  ['external_id', 'uuid'],
  ['start', 'int'],
];
const oneNodeParameters: readonly StatementParameter[] = [
  ['external_id', 'uuid'],
  ['only', 'uuid'],
];
const statements = {
  lock: {
    anywhere: defineVariants('fleet-lock-best', anyNodeParameters, lockNodeText(byFit)),
    onOne: defineVariants('fleet-lock-one', oneNodeParameters, lockNodeText(byName)),
  },
  look: {
    anywhere: defineVariants('fleet-look-best', anyNodeParameters, findNodeText(byFit)),
    onOne: defineVariants('fleet-look-one', oneNodeParameters, findNodeText(byName)),
  },
};

export interface NodeSearch {
  readonly request: PlacementRequest;
  readonly fitness: UsabilityCheck | null;
  readonly start: number;
}

function runSearch<Row>(
  tx: Tx,
  kind: 'lock' | 'look',
  { request, fitness, start }: NodeSearch,
): Promise<readonly Row[]> {
  const variants = request.only === null ? statements[kind].anywhere : statements[kind].onOne;
  const where = request.only === null ? start : toUuid(request.only);
  return runVariant<Row>(tx, variants, [...requirementValues(request), request.externalId, where], fitness);
}

/**
 * Locks the best node that is not locked, and reads its free GPUs. `none`: no unlocked node fits, or the machine is
 * already placed; nothing is locked. `changed`: the node changed between search and lock, and stays locked.
 */
export async function lockBestNode(tx: Tx, search: NodeSearch): Promise<LockedNode | 'none' | 'changed'> {
  const [row] = await runSearch<LockedRow & { is_current: boolean }>(tx, 'lock', search);
  if (row === undefined) return 'none';
  if (row.is_current) return fromLockedRow(row);
  const locked = await lockNodeAndWait(tx, search.request, fromUuid('nod', row.node_id));
  const [current] = locked === null ? [] : await readLockedNodes(tx, [locked]);
  return current ?? 'changed';
}

/** The best node, locked or not; null if none fits or the machine is already placed. Locks nothing. */
export async function findBestNode(tx: Tx, search: NodeSearch): Promise<NodeId | null> {
  const [row] = await runSearch<{ node_id: string }>(tx, 'look', search);
  return row === undefined ? null : fromUuid('nod', row.node_id);
}

const lockWaitingStatement = defineStatement(
  'fleet-lock-waiting',
  `
  select capacity.node_id from ${requestRow([['only', 'uuid']])}
    join node_capacity as capacity on ${needed} and ${hasFreeGpus} and capacity.node_id = wish.only
     for no key update of capacity`,
);

/** Waits for the lock of the node; returns null if the node then no longer fits. */
export async function lockNodeAndWait(
  tx: Tx,
  need: PlacementRequirements,
  nodeId: NodeId,
): Promise<NodeId | null> {
  const values = [...requirementValues(need), toUuid(nodeId)];
  const [row] = await runStatement<{ node_id: string }>(tx, lockWaitingStatement, values);
  return row === undefined ? null : fromUuid('nod', row.node_id);
}

const idle = 'capacity.gpus_free = wish.gpus and capacity.idle and capacity.fabric_id is not null';

const sampleSide = (matches: string, turn: string, side: string): string => `
          (select capacity.fabric_id, ${turn} as turn from node_capacity as capacity
            where ${matches} and ${idle} and capacity.largest_numa_free = numa.gpus and capacity.spread ${side} wish.start
            order by capacity.spread limit wish.sample)`;

const fabricsStatements = defineVariants(
  'fleet-fabrics',
  [
    ['external_id', 'uuid'],
    ['start', 'int'],
    ['sample', 'int'],
    ['counted', 'int'],
  ],
  (matches, row) => `
  select seen.fabric_id, seen.turn, (
           select count(*)::int from (
             select from node_capacity as capacity
              where capacity.fabric_id = seen.fabric_id and capacity.idle and capacity.gpus_total = wish.gpus and ${matches}
              limit wish.counted) as idle_node
         ) as idle_nodes
    from ${row(unplaced)}
   cross join lateral (
      select sample.fabric_id, min(sample.turn) as turn
        from generate_series(1, wish.gpus) as numa (gpus)
       cross join lateral (
          ${sampleSide(matches, 'capacity.spread - wish.start', '>=')}
          union all
          ${sampleSide(matches, `capacity.spread - wish.start + ${SPREAD_BOUND}`, '<')}) as sample
       group by sample.fabric_id) as seen`,
);

interface FabricRow {
  fabric_id: string;
  turn: number;
  idle_nodes: number;
}

/** Samples fabrics with idle nodes around the start position; returns none if the machine is already placed. */
export async function readFabrics(
  tx: Tx,
  request: PlacementRequest,
  fitness: UsabilityCheck | null,
  look: { readonly start: number; readonly sample: number },
): Promise<readonly FabricCandidate[]> {
  const counted = Math.max(IDLE_NODES_COUNTED, request.nodeCount);
  const values = [...requirementValues(request), request.externalId, look.start, look.sample, counted];
  const rows = await runVariant<FabricRow>(tx, fabricsStatements, values, fitness);
  return rows.map((row) => ({
    fabricId: fromUuid('fab', row.fabric_id),
    idleNodes: row.idle_nodes,
    turn: row.turn,
  }));
}

const lockGangText = (matches: string, row: () => string): string => `
  select node.node_id from ${row()}
   cross join lateral (
     select capacity.node_id from node_capacity as capacity
      where capacity.fabric_id = wish.fabric_id and capacity.idle and capacity.gpus_total = wish.gpus and ${matches}
      order by capacity.node_id limit wish.nodes
        for no key update of capacity`;

const gangExtras: readonly StatementParameter[] = [
  ['fabric_id', 'uuid'],
  ['nodes', 'int'],
];
const lockGangStatements = {
  wait: defineVariants('fleet-lock-gang', gangExtras, (...args) => `${lockGangText(...args)}) as node`),
  skip: defineVariants(
    'fleet-lock-free-gang',
    gangExtras,
    (...args) => `${lockGangText(...args)} skip locked) as node`,
  ),
};

/** Locks idle nodes of the fabric in order of id, waiting for locked ones or skipping them. May return fewer. */
export async function lockGang(
  tx: Tx,
  need: PlacementRequirements,
  fitness: UsabilityCheck | null,
  from: { readonly fabricId: FabricId; readonly whenHeld: 'wait' | 'skip' },
): Promise<readonly NodeId[]> {
  const values = [...requirementValues(need), toUuid(from.fabricId), need.nodeCount];
  const variants = lockGangStatements[from.whenHeld];
  const rows = await runVariant<{ node_id: string }>(tx, variants, values, fitness);
  return rows.map((row) => fromUuid('nod', row.node_id));
}

export interface LockedNode {
  readonly nodeId: NodeId;
  readonly free: readonly FreeGpu[];
  readonly takenPorts: ReadonlySet<string>;
  /** Null if machines have their own address and need no ports of the node. */
  readonly portRange: { readonly first: number; readonly last: number } | null;
  /** Last heartbeat of the cluster's observer. */
  readonly watchedAt: Date | null;
}

interface LockedRow {
  node_id: string;
  maps_ports: boolean;
  port_first: number;
  port_last: number;
  beat_at: Date | null;
  /** Per GPU: id, PCI address and, if known, NUMA node. */
  gpus: readonly string[];
  ports: readonly string[];
}

const lockedStatement = defineStatement(
  'fleet-locked-nodes',
  `select capacity.node_id, ${mapsPorts} as maps_ports, cluster.port_first, cluster.port_last, cluster.beat_at,
          ${ofNode('capacity.node_id')}
     from node_capacity as capacity join clusters as cluster on cluster.id = capacity.cluster_id
    where capacity.node_id = any ($1::uuid[])
    order by capacity.node_id`,
);

/** A separate statement after the lock, because only then does it see what the previous lock holder committed. */
export async function readLockedNodes(tx: Tx, nodeIds: readonly NodeId[]): Promise<readonly LockedNode[]> {
  const rows = await runStatement<LockedRow>(tx, lockedStatement, [nodeIds.map(toUuid)]);
  return rows.map(fromLockedRow);
}

function fromLockedRow(row: LockedRow): LockedNode {
  return {
    nodeId: fromUuid('nod', row.node_id),
    free: row.gpus.map((gpu) => {
      const [id = '', pciAddress = '', numaNode] = gpu.split(' ');
      return {
        gpuId: fromUuid('gpu', id),
        pciAddress,
        numaNode: numaNode === undefined ? null : Number(numaNode),
      };
    }),
    takenPorts: new Set(row.ports),
    portRange: row.maps_ports ? { first: row.port_first, last: row.port_last } : null,
    watchedAt: row.beat_at,
  };
}

/** Rolling back to it releases all locks taken since, also those on rows that did not fit. */
export async function savepoint(tx: Tx): Promise<void> {
  await sql`savepoint before_nodes`.execute(tx.kysely);
}

/** For placements that must not wait for a lock: most transactions end within this time. */
export async function sleepBeforeRetry(tx: Tx): Promise<void> {
  await sql`select pg_sleep(0.005)`.execute(tx.kysely);
}

export async function rollbackToSavepoint(tx: Tx): Promise<void> {
  await sql`rollback to savepoint before_nodes`.execute(tx.kysely);
}

/** Fails the transaction with a retryable error, so that its caller runs it again without these locks. */
export async function raiseSerializationFailure(tx: Tx): Promise<void> {
  await sql`
    do $$ begin
      raise serialization_failure using message = 'others hold all nodes with room, and one that is of no use is held here';
    end $$`.execute(tx.kysely);
}
