import {
  defineStatement,
  runStatement,
  type PreparedStatement,
  type Reader,
  type Tx,
} from '@millrace/platform/db';
import {
  fromUuid,
  toUuid,
  type AllocationId,
  type FabricId,
  type NodeId,
  type OrgId,
} from '@millrace/platform/ids';
import { sql } from 'kysely';
import {
  type Candidate,
  type FabricCandidate,
  type FreeGpu,
  type Placement,
  type PlacementNeed,
  type PlacementWish,
} from './placement.ts';

/** All SQL about who has which GPUs. */

/** Random starting points are below this, as `node_capacity.spread` is. */
export const SPREAD_BOUND = 2_147_483_647;

/** Enough to find a free one among nodes that others hold at this moment, and few enough to cost little. */
const CANDIDATES = 16;

/** Of each number of free GPUs: more than one, so that some can be held by others; few, so that tight fits come first. */
const CANDIDATES_OF_A_KIND = 8;

/** Idle nodes looked at, to find fabrics for a gang, before all of them are. */
export const FABRIC_SAMPLE = 128;

/** Fabrics with more idle nodes than this are all large: which of them is the larger is not worth a count. */
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
 * for any, and plan each placement anew, which takes four times as long as finding the nodes.
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
  9,
  (matches) => `
  select candidate.node_id, candidate.gpus_free, candidate.gpus_total, candidate.largest_numa_free, candidate.spread
    from generate_series($8::int, case when $2 = 'bare-metal' then $8::int else (
           select max(capacity.gpus_free) from node_capacity as capacity where ${pool})::int end) as kind (gpus_free)
   cross join lateral (
     (select ${candidateColumns} from node_capacity as capacity
       where ${matches} and ${whole} and capacity.gpus_free = kind.gpus_free and capacity.spread >= ${unseen(9, 'int')}
       order by capacity.spread limit ${CANDIDATES_OF_A_KIND})
     union all
     (select ${candidateColumns} from node_capacity as capacity
       where ${matches} and ${whole} and capacity.gpus_free = kind.gpus_free and capacity.spread < ${unseen(9, 'int')}
       order by capacity.spread limit ${CANDIDATES_OF_A_KIND})) as candidate
   limit ${CANDIDATES}`,
);

const oneNodeStatements = defineVariants(
  'fleet-candidate-by-name',
  9,
  (matches) => `
  select ${candidateColumns} from node_capacity as capacity
   where ${matches} and ${holds} and capacity.node_id = $9`,
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

/** Nodes with enough free GPUs, tightest first, from a starting point in the order of `spread`. Nothing is locked. */
export async function readCandidates(
  tx: Tx,
  need: PlacementNeed,
  fitness: Fitness | null,
  start: number,
): Promise<readonly Candidate[]> {
  const variants = need.only === null ? candidatesStatements : oneNodeStatements;
  const where = need.only === null ? start : toUuid(need.only);
  const rows = await runVariant<CandidateRow>(tx, variants, [...needValues(need), where], fitness);
  return rows.map((row) => ({
    nodeId: fromUuid('nod', row.node_id),
    gpusFree: row.gpus_free,
    gpusTotal: row.gpus_total,
    largestNumaFree: row.largest_numa_free,
    turn: row.spread >= start ? row.spread - start : row.spread - start + SPREAD_BOUND,
  }));
}

const fabricsStatements = defineVariants(
  'fleet-fabrics',
  10,
  (matches) => `
  select seen.fabric_id, seen.turn, (
           select count(*)::int from (
             select from node_capacity as capacity
              where capacity.fabric_id = seen.fabric_id and capacity.idle and capacity.gpus_total = ${unseen(8, 'int')} and ${matches}
              limit ${IDLE_NODES_COUNTED}) as idle_node
         ) as idle_nodes
    from (
      select sample.fabric_id, min(sample.spread) as turn from (
        select capacity.fabric_id, capacity.spread from node_capacity as capacity
         where ${matches} and capacity.gpus_free = ${unseen(8, 'int')} and capacity.idle and capacity.fabric_id is not null
           and capacity.spread >= ${unseen(9, 'int')}
         order by capacity.spread limit ${unseen(10, 'int')}) as sample
       group by sample.fabric_id) as seen`,
);

interface FabricRow {
  fabric_id: string;
  turn: number;
  idle_nodes: number;
}

/** Fabrics with idle nodes of this size, of those that a sample from the starting point on touches. */
export async function readFabrics(
  tx: Tx,
  need: PlacementNeed,
  fitness: Fitness | null,
  look: { readonly start: number; readonly sample: number },
): Promise<readonly FabricCandidate[]> {
  const values = [...needValues(need), look.start, look.sample];
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

const allocateStatement = defineStatement(
  'fleet-allocate',
  `with made as (
     insert into allocations
       (id, org_id, mode, external_id, holder, region, gpu_count, node_count, state, frees_at, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, 'live', $9, $10)),
   sold as (
     insert into allocated_gpus (allocation_id, gpu_id, node_id, org_id, mode)
     select $1, gpu_id, node_id, $2, $3 from unnest($11::uuid[], $12::uuid[]) as given (gpu_id, node_id))
   insert into allocated_ports (allocation_id, node_id, org_id, mode, protocol, external_port, internal_port)
   select $1, node_id, $2, $3, protocol, external_port, internal_port
     from unnest($13::uuid[], $14::text[], $15::int4[], $16::int4[])
       as given (node_id, protocol, external_port, internal_port)`,
);

/** Writes the whole placement in one statement. The database counts what is left of the nodes. */
export async function insertAllocation(tx: Tx, wish: PlacementWish, placement: Placement): Promise<void> {
  const gpus = placement.nodes.flatMap(({ nodeId, gpus: taken }) =>
    taken.map(({ gpuId }) => ({ nodeId, gpuId })),
  );
  const ports = placement.nodes.flatMap(({ nodeId, ports: given }) =>
    given.map((port) => ({ nodeId, ...port })),
  );
  await runStatement(tx, allocateStatement, [
    toUuid(placement.allocationId),
    toUuid(wish.orgId),
    wish.mode,
    wish.externalId,
    wish.holder,
    wish.region,
    gpus.length,
    placement.nodes.length,
    wish.freesAt,
    tx.clock.now(),
    gpus.map(({ gpuId }) => toUuid(gpuId)),
    gpus.map(({ nodeId }) => toUuid(nodeId)),
    ports.map(({ nodeId }) => toUuid(nodeId)),
    ports.map(({ protocol }) => protocol),
    ports.map(({ externalPort }) => externalPort),
    ports.map(({ internalPort }) => internalPort),
  ]);
}

const placementStatement = defineStatement(
  'fleet-placement',
  `select allocation.id, allocation.external_id,
          (select jsonb_agg(jsonb_build_object('node', sold.node_id, 'id', sold.gpu_id, 'pci', gpu.pci_address)
                            order by sold.node_id, gpu.pci_address)
             from allocated_gpus as sold join gpus as gpu on gpu.id = sold.gpu_id
            where sold.allocation_id = allocation.id) as gpus,
          (select jsonb_agg(jsonb_build_object('node', port.node_id, 'protocol', port.protocol,
                                               'external', port.external_port, 'internal', port.internal_port)
                            order by port.node_id, port.external_port)
             from allocated_ports as port where port.allocation_id = allocation.id) as ports
     from allocations as allocation
    where allocation.org_id = $1 and allocation.external_id = $2 and allocation.state = 'live'`,
);

interface PlacementRow {
  id: string;
  external_id: string;
  gpus: readonly { node: string; id: string; pci: string }[];
  ports: readonly { node: string; protocol: 'tcp' | 'udp'; external: number; internal: number }[] | null;
}

/** The live placement of a machine, if it has one. */
export async function findPlacement(
  reader: Reader,
  orgId: OrgId,
  externalId: string,
): Promise<Placement | null> {
  const [row] = await runStatement<PlacementRow>(reader, placementStatement, [toUuid(orgId), externalId]);
  if (row === undefined) return null;
  const byNode = Map.groupBy(row.gpus, (gpu) => gpu.node);
  return {
    allocationId: fromUuid('alc', row.id),
    externalId: row.external_id,
    nodes: [...byNode].map(([node, gpus]) => ({
      nodeId: fromUuid('nod', node),
      gpus: gpus.map((gpu) => ({ gpuId: fromUuid('gpu', gpu.id), pciAddress: gpu.pci })),
      ports: (row.ports ?? [])
        .filter((port) => port.node === node)
        .map((port) => ({
          protocol: port.protocol,
          externalPort: port.external,
          internalPort: port.internal,
        })),
    })),
  };
}

/** Keeps the GPUs from being sold while the engine has not confirmed that the machine is gone. False: it was not live. */
export async function markReleasing(tx: Tx, orgId: OrgId, allocationId: AllocationId): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update allocations set state = 'releasing'
     where id = ${toUuid(allocationId)} and org_id = ${toUuid(orgId)} and state = 'live'`.execute(tx.kysely);
  return numAffectedRows === 1n;
}

const releaseStatement = defineStatement(
  'fleet-release',
  `with freed as (
     update allocations set state = 'released', released_at = $3
      where id = $1 and org_id = $2 and state <> 'released'
     returning id),
   ports as (
     update allocated_ports as port set released_at = $3
       from freed where port.allocation_id = freed.id and port.released_at is null),
   gpus as (
     update allocated_gpus as sold set released_at = $3
       from freed where sold.allocation_id = freed.id and sold.released_at is null)
   select id from freed`,
);

/**
 * Gives GPUs and ports back. False: they were given back before. All hangs on the guarded row, so that of two who
 * release at once the second waits for it and then finds nothing to do.
 */
export async function releaseAllocation(tx: Tx, orgId: OrgId, allocationId: AllocationId): Promise<boolean> {
  const values = [toUuid(allocationId), toUuid(orgId), tx.clock.now()];
  const freed = await runStatement<{ id: string }>(tx, releaseStatement, values);
  return freed.length === 1;
}

/** Says when a live allocation is known to end, or that it no longer is. */
export async function setFreesAt(
  tx: Tx,
  orgId: OrgId,
  allocationId: AllocationId,
  freesAt: Date | null,
): Promise<void> {
  await sql`
    update allocations set frees_at = ${freesAt}
     where id = ${toUuid(allocationId)} and org_id = ${toUuid(orgId)} and state <> 'released'`.execute(
    tx.kysely,
  );
}

/** A place to come back to: going back lets go of every lock taken since, also of those on rows that did not suit. */
export async function markPlace(tx: Tx): Promise<void> {
  await sql`savepoint before_nodes`.execute(tx.kysely);
}

export async function goBack(tx: Tx): Promise<void> {
  await sql`rollback to savepoint before_nodes`.execute(tx.kysely);
}
