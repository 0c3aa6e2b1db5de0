import type { MachineView } from '@millrace/compute';
import type { Reader, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import {
  fromUuid,
  toUuid,
  type ClusterId,
  type NodeId,
  type OrgId,
  type RentalId,
} from '@millrace/platform/ids';
import { isItemAvailable, type SharedLoop } from '@millrace/platform/loops';
import { sql } from 'kysely';
import { currentClusters, nodeName } from '../../fleet/index.ts';
import type { ComparedRental } from './plan-repairs.ts';
import type { MachineStage, Power, RentalKind, RentalState, RentalTask } from '../model/rental.ts';
import type { RecordedMachine, RecordedOrphan } from './plan-orphans.ts';

/** All SQL on comparisons, orphans and the rows that are compared. Times come from the caller's clock. */

/** A comparison claimed by this process, with the state of earlier ones. */
export interface Comparison {
  readonly clusterId: ClusterId;
  readonly turn: bigint;
  readonly watchingSince: Date;
  readonly wholeAt: Date | null;
  readonly removalAllowedUntil: Date | null;
  /** Whether the engine did not respond in the previous comparison. */
  readonly wasUnanswered: boolean;
}

interface ComparisonRow {
  cluster_id: string;
  turn: bigint;
  looked_at: Date | null;
  watching_since: Date | null;
  whole_at: Date | null;
  reap_allowed_until: Date | null;
  problem: string | null;
}

/** Problem of a comparison whose engine responded but whose findings are not all stored. */
export const INCOMPLETE = 'Not all that was found is written down.';

/** Whether a cluster responded in its last comparison. A cluster that was never compared counts as answering. */
export type ComparisonGroup = 'answering' | 'unanswering';
export const comparisonGroups = ['answering', 'unanswering'] as const;

export interface ComparisonClaim {
  readonly holder: string;
  readonly now: Date;
  readonly leaseMs: number;
  /** Minimum time since the start of the last comparison. */
  readonly everyMs: number;
  readonly watchGapMs: number;
  /** Only this cluster. */
  readonly clusterId?: ClusterId;
  /** Only clusters of this group. */
  readonly group?: ComparisonGroup;
}

/** Claims the comparison that is due longest and that no process runs. Each claim gets a new turn number (fencing token). */
export async function claimComparison(tx: Tx, terms: ComparisonClaim): Promise<Comparison | null> {
  const { holder, now } = terms;
  const dueBefore = new Date(now.getTime() - terms.everyMs);
  // No process writes a later time, so the value is from before the clock was set back.
  const latestPlausible = new Date(now.getTime() + 2 * terms.leaseMs);
  await sql`
    insert into cluster_comparisons (cluster_id)
    select id from ${currentClusters} as cluster
     where not exists (select from cluster_comparisons where cluster_id = cluster.id)
     order by id on conflict do nothing
  `.execute(tx.kysely);
  const { rows } = await sql<ComparisonRow>`
    select comparison.cluster_id, turn, looked_at, comparison.watching_since, whole_at, reap_allowed_until,
           problem
      from cluster_comparisons as comparison
      join ${currentClusters} as cluster on cluster.id = comparison.cluster_id
     where (looked_at is null or looked_at <= ${dueBefore} or looked_at > ${now})
       and (held_until is null or held_until <= ${now} or held_until > ${latestPlausible})
       and (${wasUnanswered(terms.group)}::boolean is null or (coalesce(problem, ${INCOMPLETE}) <> ${INCOMPLETE}) = ${wasUnanswered(terms.group)})
       and (${idOrNull(terms.clusterId)}::uuid is null or comparison.cluster_id = ${idOrNull(terms.clusterId)})
     order by looked_at nulls first, comparison.cluster_id limit 1
       for no key update of comparison skip locked
  `.execute(tx.kysely);
  const [row] = rows;
  if (row === undefined) return null;
  const watchingSince = observationStart(row, now, terms.watchGapMs);
  const turn = row.turn + 1n;
  await sql`
    update cluster_comparisons
       set turn = ${turn}, holder = ${holder}, held_until = ${new Date(now.getTime() + terms.leaseMs)},
           looked_at = ${now}, watching_since = ${watchingSince}
     where cluster_id = ${row.cluster_id}
  `.execute(tx.kysely);
  return {
    clusterId: fromUuid('cls', row.cluster_id),
    turn,
    watchingSince,
    wholeAt: row.whole_at,
    removalAllowedUntil: row.reap_allowed_until,
    wasUnanswered: isUnanswered(row),
  };
}

const isUnanswered = ({ problem }: ComparisonRow): boolean => problem !== null && problem !== INCOMPLETE;

const wasUnanswered = (group: ComparisonGroup | undefined): boolean | null =>
  group === undefined ? null : group === 'unanswering';

const idOrNull = (id: ClusterId | undefined): string | null => (id === undefined ? null : toUuid(id));

/** A gap, or a clock that was set back, restarts the observation. */
function observationStart(
  { looked_at: lookedAt, watching_since: since }: ComparisonRow,
  now: Date,
  gapMs: number,
): Date {
  const isUnbroken =
    lookedAt !== null &&
    since !== null &&
    since <= now &&
    lookedAt <= now &&
    now.getTime() - lookedAt.getTime() <= gapMs;
  return isUnbroken ? since : now;
}

/** For dry runs, without a claim. */
export async function readComparison(reader: Reader, clusterId: ClusterId, now: Date): Promise<Comparison> {
  const { rows } = await sql<ComparisonRow>`
    select cluster_id, turn, looked_at, watching_since, whole_at, reap_allowed_until, problem
      from cluster_comparisons where cluster_id = ${toUuid(clusterId)}
  `.execute(reader.kysely);
  const [row] = rows;
  return {
    clusterId,
    turn: row?.turn ?? 0n,
    watchingSince: row?.watching_since ?? now,
    wholeAt: row?.whole_at ?? null,
    removalAllowedUntil: row?.reap_allowed_until ?? null,
    wasUnanswered: row !== undefined && isUnanswered(row),
  };
}

/** Whether this comparison is still the newest. No other comparison can start during the transaction. */
export async function isNewestComparison(tx: Tx, { clusterId, turn }: Comparison): Promise<boolean> {
  const { rows } = await sql<{ turn: bigint }>`
    select turn from cluster_comparisons where cluster_id = ${toUuid(clusterId)} for share
  `.execute(tx.kysely);
  return rows[0]?.turn === turn;
}

/** Releases the claim. `wholeAt`: all findings of this comparison are stored. */
export async function endComparison(
  tx: Tx,
  { clusterId, turn }: Comparison,
  end: { readonly wholeAt: Date | null; readonly problem: string | null },
): Promise<void> {
  await sql`
    update cluster_comparisons
       set holder = null, held_until = null, whole_at = coalesce(${end.wholeAt}::timestamptz, whole_at),
           problem = ${end.problem}
     where cluster_id = ${toUuid(clusterId)} and turn = ${turn}
  `.execute(tx.kysely);
}

/** An operator approves the removal of any number of orphans of a cluster until `until`. */
export async function allowOrphanRemoval(tx: Tx, clusterId: ClusterId, until: Date): Promise<void> {
  await sql`
    insert into cluster_comparisons (cluster_id, reap_allowed_until) values (${toUuid(clusterId)}, ${until})
    on conflict (cluster_id) do update set reap_allowed_until = excluded.reap_allowed_until
  `.execute(tx.kysely);
}

export async function isRemovalAllowed(reader: Reader, clusterId: ClusterId, now: Date): Promise<boolean> {
  const { rows } = await sql<{ is_allowed: boolean }>`
    select coalesce(reap_allowed_until > ${now}, false) as is_allowed
      from cluster_comparisons where cluster_id = ${toUuid(clusterId)}
  `.execute(reader.kysely);
  return rows[0]?.is_allowed === true;
}

/** A machine that a rental has or might have at the cluster's engine. */
export interface KnownMachine {
  readonly rentalId: RentalId;
  readonly orgId: OrgId;
  readonly externalId: string;
  readonly attempt: number;
  readonly position: number;
  readonly state: MachineStage;
  readonly absentSeen: number;
  readonly nodeId: NodeId;
  readonly nodeName: string;
  readonly privateIp: string | null;
  readonly rental: ComparedRental & { readonly attempt: number; readonly wireId: number };
}

interface KnownRow {
  rental_id: string;
  org_id: string;
  external_id: string;
  attempt: number;
  position: number;
  state: MachineStage;
  absent_seen: number;
  node_id: string;
  node_name: string;
  private_ip: string | null;
  rental_attempt: number;
  wire_id: number;
  kind: RentalKind;
  status: RentalState;
  status_since: Date;
  started_at: Date | null;
  task: RentalTask | null;
  power: Power;
  gpu_held: boolean;
  trouble_since: Date | null;
  billing_paused_at: Date | null;
  changed_at: Date;
}

/** Call after the engine has listed its machines, because rows are written before the engine creates a machine. */
export async function listKnown(reader: Reader, clusterId: ClusterId): Promise<readonly KnownMachine[]> {
  const { rows } = await sql<KnownRow>`
    select machine.rental_id, machine.org_id, machine.external_id, machine.attempt, machine.position, machine.state,
           machine.absent_seen, machine.node_id, machine.private_ip,
           ${nodeName('machine.node_id')} as node_name,
           rental.attempt as rental_attempt, rental.wire_id, rental.kind,
           rental.status, rental.status_since, rental.started_at, rental.task, rental.power, rental.gpu_held,
           rental.trouble_since, rental.billing_paused_at,
           greatest(rental.status_since, rental.updated_at) as changed_at
      from rental_machines as machine
      join rentals as rental on rental.id = machine.rental_id
     where machine.cluster_id = ${toUuid(clusterId)} and machine.state <> 'gone'
     order by machine.rental_id, machine.attempt, machine.position
  `.execute(reader.kysely);
  return rows.map((row) => ({
    rentalId: fromUuid('rnt', row.rental_id),
    orgId: fromUuid('org', row.org_id),
    externalId: row.external_id,
    attempt: row.attempt,
    position: row.position,
    state: row.state,
    absentSeen: row.absent_seen,
    nodeId: fromUuid('nod', row.node_id),
    nodeName: row.node_name,
    privateIp: row.private_ip,
    rental: {
      attempt: row.rental_attempt,
      wireId: row.wire_id,
      kind: row.kind,
      status: row.status,
      statusSince: row.status_since,
      startedAt: row.started_at,
      task: row.task,
      power: row.power,
      gpuHeld: row.gpu_held,
      unhealthySince: row.trouble_since,
      billingPausedAt: row.billing_paused_at,
      changedAt: row.changed_at,
    },
  }));
}

/** Rows of machines that this cluster does not have: they are on other clusters or deleted. */
export async function findRecordedMachines(
  reader: Reader,
  externalIds: readonly string[],
): Promise<ReadonlyMap<string, RecordedMachine>> {
  if (externalIds.length === 0) return new Map();
  const { rows } = await sql<{ external_id: string; is_live: boolean; created_at: Date }>`
    select machine.external_id, machine.state <> 'gone' as is_live, rental.created_at
      from rental_machines as machine join rentals as rental on rental.id = machine.rental_id
     where machine.external_id = any (${[...externalIds]}::text[])
  `.execute(reader.kysely);
  return new Map(
    rows.map((row) => [row.external_id, { isLive: row.is_live, rentalCreatedAt: row.created_at }]),
  );
}

export async function listOrphans(reader: Reader, clusterId: ClusterId): Promise<readonly RecordedOrphan[]> {
  const { rows } = await sql<{
    org_id: string;
    external_id: string;
    node_name: string;
    first_seen_at: Date;
    reap_begun_at: Date | null;
  }>`
    select org_id, external_id, node_name, first_seen_at, reap_begun_at from stray_machines
     where cluster_id = ${toUuid(clusterId)} order by first_seen_at, org_id, external_id
  `.execute(reader.kysely);
  return rows.map((row) => ({
    orgId: fromUuid('org', row.org_id),
    externalId: row.external_id,
    nodeName: row.node_name,
    firstSeenAt: row.first_seen_at,
    removalStartedAt: row.reap_begun_at,
  }));
}

export async function insertOrphans(
  tx: Tx,
  cluster: { readonly id: ClusterId; readonly mode: Mode },
  machines: readonly MachineView[],
): Promise<void> {
  if (machines.length === 0) return;
  const rows = machines.map(({ orgId, externalId, nodeName }) => ({
    org_id: toUuid(orgId),
    external_id: externalId,
    node_name: nodeName,
  }));
  await sql`
    insert into stray_machines (cluster_id, org_id, external_id, mode, node_name, first_seen_at)
    select ${toUuid(cluster.id)}, org_id, external_id, ${cluster.mode}, node_name, ${tx.clock.now()}
      from json_to_recordset(${JSON.stringify(rows)}::json) as stray (org_id uuid, external_id text, node_name text)
    on conflict do nothing
  `.execute(tx.kysely);
}

export async function deleteOrphans(
  tx: Tx,
  clusterId: ClusterId,
  orphans: readonly RecordedOrphan[],
): Promise<void> {
  for (const { orgId, externalId } of orphans) {
    await sql`
      delete from stray_machines
       where cluster_id = ${toUuid(clusterId)} and org_id = ${toUuid(orgId)} and external_id = ${externalId}
    `.execute(tx.kysely);
  }
}

/** Stores that a removal was tried, and its error. */
export async function recordOrphanRemoval(
  tx: Tx,
  clusterId: ClusterId,
  { orgId, externalId }: RecordedOrphan,
  lastError: string | null,
): Promise<void> {
  await sql`
    update stray_machines
       set reap_begun_at = coalesce(reap_begun_at, ${tx.clock.now()}), last_error = ${lastError}
     where cluster_id = ${toUuid(clusterId)} and org_id = ${toUuid(orgId)} and external_id = ${externalId}
  `.execute(tx.kysely);
}

export interface OverdueRental {
  readonly id: RentalId;
  readonly orgId: OrgId;
}

/** Overdue rentals, latest first, except those that the loop has postponed. */
export async function findOverdue(
  reader: Reader,
  loop: SharedLoop,
  { now, limit }: { readonly now: Date; readonly limit: number },
): Promise<readonly OverdueRental[]> {
  const { rows } = await sql<{ id: string; org_id: string }>`
    select id, org_id from rentals
     where deadline_at <= ${now} and ${isItemAvailable(loop, sql<string>`rentals.id::text`, now)}
     order by deadline_at limit ${limit}
  `.execute(reader.kysely);
  return rows.map((row) => ({ id: fromUuid('rnt', row.id), orgId: fromUuid('org', row.org_id) }));
}

/** Locks the rentals that are still overdue, so that only one worker repairs each. */
export async function lockOverdue(
  tx: Tx,
  now: Date,
  late: readonly OverdueRental[],
): Promise<readonly OverdueRental[]> {
  const { rows } = await sql<{ id: string; org_id: string; is_late: boolean }>`
    select id, org_id, coalesce(deadline_at <= ${now}, false) as is_late from rentals
     where id = any (${late.map(({ id }) => toUuid(id))}::uuid[])
     order by id for no key update skip locked
  `.execute(tx.kysely);
  const still = rows.filter((row) => row.is_late);
  return still.map((row) => ({ id: fromUuid('rnt', row.id), orgId: fromUuid('org', row.org_id) }));
}

export async function listOverdue(
  reader: Reader,
  now: Date,
  limit: number,
): Promise<readonly OverdueRental[]> {
  const { rows } = await sql<{ id: string; org_id: string }>`
    select id, org_id from rentals
     where deadline_at <= ${now} order by deadline_at limit ${limit}
  `.execute(reader.kysely);
  return rows.map((row) => ({ id: fromUuid('rnt', row.id), orgId: fromUuid('org', row.org_id) }));
}

export interface ComparisonAge {
  readonly clusterName: string;
  readonly wholeAt: Date | null;
}

/** Clusters with the oldest complete comparison, for metrics. */
export async function readComparisonAges(reader: Reader, limit: number): Promise<readonly ComparisonAge[]> {
  const { rows } = await sql<{ name: string; whole_at: Date | null }>`
    select cluster.name, comparison.whole_at
      from ${currentClusters} as cluster
      left join cluster_comparisons as comparison on comparison.cluster_id = cluster.id
     order by comparison.whole_at nulls first, cluster.id limit ${limit}
  `.execute(reader.kysely);
  return rows.map((row) => ({ clusterName: row.name, wholeAt: row.whole_at }));
}
