import { toJsonMessage, type EpochEnd } from '@millrace/credit-leases/protocol';
import type { Reader, Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type LeaseId, type OrgId } from '@millrace/platform/ids';
import { isItemAvailable } from '@millrace/platform/loops';
import { sql, type RawBuilder } from 'kysely';

/**
 * Stores usage that could not be charged when the sink read it. Rows of one organisation and lease form a group; groups
 * fail and are charged independently. End markers and usage without a lease form one group per organisation.
 */

export interface DeferredGroup {
  readonly orgId: OrgId;
  readonly leaseId: LeaseId | null;
}

interface StreamPosition {
  readonly seq: bigint;
  readonly position: number;
}

export interface DeferredUsage extends StreamPosition {
  readonly orgId: OrgId;
  readonly leaseId: LeaseId | null;
  /** A usage event as JSON; the feature that records usage parses it again. */
  readonly event?: object;
  readonly end?: EpochEnd;
}

export interface DeferredRow extends StreamPosition {
  readonly stream: string;
  readonly kind: 'usage' | 'end';
  readonly payload: unknown;
}

/** Identifies a group, also as a loop item. Must match `groupKey` in SQL. */
export function groupKeyOf({ orgId, leaseId }: DeferredGroup): string {
  return `${toUuid(orgId)} ${toUuid(leaseId ?? orgId)}`;
}

const groupKey = sql<string>`(lanes.org_id::text || ' ' || lanes.lane::text)`;

/** For a `pot_leases lease`. A lease with deferred usage must not be closed, because usage of a closed lease is not charged. */
export const hasNoDeferredUsage = sql<boolean>`not exists (
  select from usage_deferred later where later.lease_id = lease.id and later.org_id = lease.org_id)`;

export async function listDeferredGroupKeys(
  reader: Reader,
  named: readonly DeferredGroup[],
): Promise<ReadonlySet<string>> {
  const distinct = [...new Map(named.map((group) => [groupKeyOf(group), group])).values()];
  const { rows } = await sql<{ key: string }>`
    select ${groupKey} as key
      from unnest(${distinct.map(({ orgId }) => toUuid(orgId))}::uuid[],
                  ${distinct.map(({ orgId, leaseId }) => toUuid(leaseId ?? orgId))}::uuid[]) as lanes (org_id, lane)
     where exists (
       select from usage_deferred later where later.org_id = lanes.org_id and later.lane = lanes.lane)
  `.execute(reader.kysely);
  return new Set(rows.map(({ key }) => key));
}

/** Returns the number of added rows: an event that is read again is stored once. */
export async function deferUsage(tx: Tx, stream: string, found: readonly DeferredUsage[]): Promise<number> {
  if (found.length === 0) return 0;
  const rows = found.map(({ seq, position, orgId, leaseId, event, end }) => ({
    seq: seq.toString(),
    position,
    org_id: toUuid(orgId),
    lease_id: leaseId === null ? null : toUuid(leaseId),
    kind: end === undefined ? 'usage' : 'end',
    payload: end === undefined ? event : toJsonMessage(end),
  }));
  const { numAffectedRows } = await sql`
    insert into usage_deferred (stream, seq, position, org_id, lease_id, kind, payload, recorded_at)
    select ${stream}, seq, position, org_id, lease_id, kind, payload, ${tx.clock.now()}
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as found (
        seq bigint, position integer, org_id uuid, lease_id uuid, kind text, payload jsonb)
    on conflict do nothing
  `.execute(tx.kysely);
  return Number(numAffectedRows ?? 0n);
}

/** Due groups that no worker has claimed. Reads one index entry per group instead of one per row, and stops at the limit. */
export async function listDueGroups(
  reader: Reader,
  loop: { readonly name: string },
  now: Date,
  limit: number,
): Promise<DeferredGroup[]> {
  const { rows } = await sql<{ org_id: string; lane: string }>`
    with recursive lanes as (
      (select org_id, lane from usage_deferred order by org_id, lane limit 1)
      union all
      select next.org_id, next.lane from lanes cross join lateral (
        select later.org_id, later.lane from usage_deferred later
         where (later.org_id, later.lane) > (lanes.org_id, lanes.lane)
         order by later.org_id, later.lane limit 1) as next
    )
    select org_id, lane from lanes where ${isItemAvailable(loop, groupKey, now)} limit ${limit}
  `.execute(reader.kysely);
  return rows.map((row) => ({
    orgId: fromUuid('org', row.org_id),
    leaseId: row.lane === row.org_id ? null : fromUuid('lse', row.lane),
  }));
}

/** The rows with the fewest failed attempts, oldest first. */
export async function listDeferred(
  reader: Reader,
  { orgId, leaseId }: DeferredGroup,
  limit: number,
): Promise<DeferredRow[]> {
  const { rows } = await sql<DeferredRow>`
    select stream, seq, position, kind, payload from usage_deferred
     where org_id = ${toUuid(orgId)} and lane = ${toUuid(leaseId ?? orgId)}
     order by attempts, recorded_at, seq, position limit ${limit}
  `.execute(reader.kysely);
  return rows;
}

/** Locks the rows that still exist: a worker whose claim expired may have charged some. */
export async function lockDeferred(tx: Tx, listed: readonly DeferredRow[]): Promise<DeferredRow[]> {
  const { rows } = await sql<DeferredRow>`
    select stream, seq, position, kind, payload from usage_deferred
     where (stream, seq, position) in (select * from ${positionsOf(listed)})
     order by stream, seq, position for update
  `.execute(tx.kysely);
  return rows;
}

function positionsOf(rows: readonly DeferredRow[]): RawBuilder<unknown> {
  return sql`unnest(${rows.map(({ stream }) => stream)}::text[], ${rows.map(({ seq }) => seq.toString())}::bigint[],
                    ${rows.map(({ position }) => position)}::integer[])`;
}

export async function deleteDeferred(tx: Tx, rows: readonly DeferredRow[]): Promise<void> {
  await sql`
    delete from usage_deferred where (stream, seq, position) in (select * from ${positionsOf(rows)})
  `.execute(tx.kysely);
}

export async function countDeferredAttempt(tx: Tx, row: DeferredRow): Promise<void> {
  await sql`
    update usage_deferred set attempts = attempts + 1
     where (stream, seq, position) in (select * from ${positionsOf([row])})
  `.execute(tx.kysely);
}
