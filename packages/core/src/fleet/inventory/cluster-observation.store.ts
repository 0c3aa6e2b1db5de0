import type { Reader, Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type ClusterId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import type { ClusterRecord } from './clusters.ts';
import { findCluster } from './clusters.store.ts';
import {
  withHeartbeat,
  isLeaseFree,
  type CurrentObservation,
  type Observation,
} from './cluster-observation.ts';

/** SQL about the leases and heartbeats of observers. Callers pass the time of their transaction (`tx.clock`). */

/** Makes PostgreSQL abort this transaction if the process pauses in it, so that other processes need not wait. */
export async function setIdleInTransactionTimeout(tx: Tx, longestMs: number): Promise<void> {
  await sql`select set_config('idle_in_transaction_session_timeout', ${String(longestMs)}, true)`.execute(
    tx.kysely,
  );
}

/** Registers or renews this observer and returns the number of live observers, including itself. */
export async function registerObserver(
  tx: Tx,
  observer: { readonly holder: string; readonly now: Date; readonly ttlMs: number },
): Promise<number> {
  const { holder, now, ttlMs } = observer;
  const expires = new Date(now.getTime() + ttlMs);
  // A later expiry was written before the clock was set back.
  const implausible = new Date(now.getTime() + 2 * ttlMs);
  await sql`
    insert into cluster_observers (holder, expires_at) values (${holder}, ${expires})
    on conflict (holder) do update set expires_at = excluded.expires_at
  `.execute(tx.kysely);
  // A locked row is being renewed, so its observer is alive. Waiting for the lock could deadlock.
  await sql`
    delete from cluster_observers where holder in (
      select holder from cluster_observers
       where (expires_at <= ${now} or expires_at > ${implausible}) and holder <> ${holder} for update skip locked)
  `.execute(tx.kysely);
  const { rows } = await sql<{ alive: bigint }>`
    select count(*) as alive from cluster_observers where expires_at > ${now} and expires_at <= ${implausible}
  `.execute(tx.kysely);
  return Number(rows[0]?.alive ?? 1n);
}

/** Releases all leases of an observer. Locks rows in order of id, like all code that locks several clusters. */
export async function unregisterObserver(tx: Tx, holder: string): Promise<void> {
  await sql`delete from cluster_observers where holder = ${holder}`.execute(tx.kysely);
  const { kysely } = tx;
  await sql`select 1 from clusters where observer = ${holder} order by id for no key update`.execute(kysely);
  await sql`
    update clusters set observer = null, observer_until = null where observer = ${holder}
  `.execute(kysely);
}

interface ObservationRow {
  id: string;
  last_seen_at: Date | null;
  watching_since: Date | null;
  beat_at: Date | null;
  observer: string | null;
  observer_until: Date | null;
}

const observationColumns = sql`id, last_seen_at, watching_since, beat_at, observer, observer_until`;

function toObservation(row: ObservationRow): Observation {
  return { lastSeenAt: row.last_seen_at, watchingSince: row.watching_since, heartbeatAt: row.beat_at };
}

export interface LeaseTerms {
  readonly holder: string;
  readonly now: Date;
  readonly leaseMs: number;
  readonly heartbeatMs: number;
}

/**
 * Renews the leases of this observer and returns its clusters in order of id. A locked cluster row is skipped: the
 * transaction that holds the lock is this observer's, which writes the heartbeat, or an operator's.
 */
export async function heartbeatAll(tx: Tx, terms: LeaseTerms): Promise<readonly ClusterId[]> {
  const { rows: held } = await sql<ObservationRow>`
    select ${observationColumns} from clusters
     where observer = ${terms.holder} and observer_until > ${terms.now} and status <> 'removed' order by id
  `.execute(tx.kysely);
  const { rows: locked } = await sql<ObservationRow>`
    select ${observationColumns} from clusters
     where observer = ${terms.holder} and observer_until > ${terms.now} and status <> 'removed'
     order by id for no key update skip locked
  `.execute(tx.kysely);
  await writeHeartbeats(tx, locked, terms);
  return held.map((row) => fromUuid('cls', row.id));
}

/** Leases up to `count` clusters that have no observer. */
export async function claimClusters(tx: Tx, terms: LeaseTerms, count: number): Promise<readonly ClusterId[]> {
  if (count <= 0) return [];
  const { rows } = await sql<ObservationRow>`
    select ${observationColumns} from clusters
     where status <> 'removed' and (observer is null or observer_until <= ${terms.now}
           or observer_until > ${new Date(terms.now.getTime() + 2 * terms.leaseMs)})
     order by beat_at nulls first, id limit ${count} for no key update skip locked
  `.execute(tx.kysely);
  const free = rows.filter((row) => isLeaseFree(row.observer_until, terms.now, terms.leaseMs));
  await writeHeartbeats(tx, free, terms);
  return free.map((row) => fromUuid('cls', row.id));
}

async function writeHeartbeats(tx: Tx, rows: readonly ObservationRow[], terms: LeaseTerms): Promise<void> {
  if (rows.length === 0) return;
  const beats = rows.map((row) => ({
    id: row.id,
    watching_since: withHeartbeat(toObservation(row), terms.now, terms.heartbeatMs).watchingSince,
  }));
  await sql`
    update clusters as cluster
       set observer = ${terms.holder}, observer_until = ${new Date(terms.now.getTime() + terms.leaseMs)},
           beat_at = ${terms.now}, watching_since = beat.watching_since
      from json_to_recordset(${JSON.stringify(beats)}::json) as beat (id uuid, watching_since timestamptz)
     where cluster.id = beat.id
  `.execute(tx.kysely);
}

/** Releases clusters that are still leased. The next heartbeat releases clusters that are locked now. */
export async function releaseClusters(tx: Tx, holder: string, ids: readonly ClusterId[]): Promise<void> {
  if (ids.length === 0) return;
  await sql`
    update clusters set observer = null, observer_until = null
     where id in (select id from clusters where observer = ${holder} and id = any (${ids.map(toUuid)}::uuid[])
                   for no key update skip locked)
  `.execute(tx.kysely);
}

export interface ObservedCluster {
  readonly cluster: ClusterRecord;
  readonly watch: CurrentObservation;
}

/** Locks a leased cluster against other observers. Returns null if the lease is lost: then write nothing. */
export async function lockObservedCluster(
  tx: Tx,
  id: ClusterId,
  terms: LeaseTerms,
): Promise<ObservedCluster | null> {
  const { rows } = await sql<ObservationRow>`
    select ${observationColumns} from clusters
     where id = ${toUuid(id)} and observer = ${terms.holder} and observer_until > ${terms.now}
       and status <> 'removed'
       for no key update
  `.execute(tx.kysely);
  const [row] = rows;
  if (row === undefined) return null;
  const cluster = await findCluster(tx, id);
  if (cluster === null) return null;
  return { cluster, watch: withHeartbeat(toObservation(row), terms.now, terms.heartbeatMs) };
}

export interface ClusterPollOutcome {
  readonly status: ClusterRecord['status'];
  readonly statusReason: string | null;
  /** Null if the engine did not respond. */
  readonly seenAt: Date | null;
  readonly engine: string | null;
}

/** Stores the outcome of a poll and its heartbeat. The caller holds the lock of `lockObservedCluster`. */
export async function writePollOutcome(
  tx: Tx,
  { cluster, watch }: ObservedCluster,
  finding: ClusterPollOutcome,
  terms: LeaseTerms,
): Promise<void> {
  const until = new Date(terms.now.getTime() + terms.leaseMs);
  await sql`
    update clusters
       set status = ${finding.status}, status_reason = ${finding.statusReason},
           status_since = case when status = ${finding.status} then status_since else ${terms.now}::timestamptz end,
           last_seen_at = coalesce(${finding.seenAt}::timestamptz, last_seen_at),
           engine = coalesce(${finding.engine}::text, engine),
           beat_at = ${watch.heartbeatAt}, watching_since = ${watch.watchingSince}, observer_until = ${until}
     where id = ${toUuid(cluster.id)}
  `.execute(tx.kysely);
}

export interface ObservationRecord extends Observation {
  readonly clusterName: string;
  readonly status: ClusterRecord['status'];
}

/** Observations of current clusters, least recently read first, for metrics and for the checks before a sale. */
export async function listObservations(reader: Reader, limit: number): Promise<readonly ObservationRecord[]> {
  const { rows } = await sql<ObservationRow & { name: string; status: ClusterRecord['status'] }>`
    select ${observationColumns}, name, status from clusters where status <> 'removed'
     order by last_seen_at nulls first, id limit ${limit}
  `.execute(reader.kysely);
  return rows.map((row) => ({ clusterName: row.name, status: row.status, ...toObservation(row) }));
}
