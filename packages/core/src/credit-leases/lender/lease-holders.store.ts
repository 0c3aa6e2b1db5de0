import type { EpochEnd } from '@millrace/credit-leases/protocol';
import type { Reader, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type LeaseId, type OrgId } from '@millrace/platform/ids';
import { isItemAvailable } from '@millrace/platform/loops';
import { sql } from 'kysely';
import type { HolderEnd } from './lease-decisions.ts';
import { endDeadHolders, releaseEndedHolders } from './loops.ts';
import type { CreditLease, LeaseSeriesRef } from './leases.store.ts';
import { hasNoDeferredUsage } from './deferred-usage.store.ts';

/** Stores which gateways hold which lease, and how each holder ended. */

export async function touchGateway(tx: Tx, gatewayId: string, cell: number): Promise<void> {
  await sql`
    insert into pot_gateways as gateway (gateway_id, cell, last_seen_at) values (${gatewayId}, ${cell}, ${tx.clock.now()})
    on conflict (gateway_id) do update set last_seen_at = greatest(gateway.last_seen_at, excluded.last_seen_at)
  `.execute(tx.kysely);
}

/** Records the holder before the lease is sent. False if it was declared dead on this lease and must not use it again. */
export async function recordLeaseHolder(tx: Tx, lease: CreditLease, gatewayId: string): Promise<boolean> {
  const { id, orgId, mode } = lease;
  await sql`
    insert into pot_lease_gateways (lease_id, gateway_id, org_id, mode, told_at)
    values (${toUuid(id)}, ${gatewayId}, ${toUuid(orgId)}, ${mode}, ${tx.clock.now()})
    on conflict do nothing
  `.execute(tx.kysely);
  const { rows } = await sql<{ usable: boolean }>`
    select declared_dead_at is null and ended_at_seq is null as usable from pot_lease_gateways
     where lease_id = ${toUuid(id)} and gateway_id = ${gatewayId} and org_id = ${toUuid(orgId)}
  `.execute(tx.kysely);
  return rows[0]?.usable ?? false;
}

export interface LeaseHolder extends HolderEnd {
  readonly gatewayId: string;
}

export async function listLeaseHolders(db: Reader, orgId: OrgId, leaseId: LeaseId): Promise<LeaseHolder[]> {
  const { rows } = await sql<{ gateway_id: string; stream: string | null; seq: bigint | null }>`
    select gateway_id, ended_stream as stream, ended_at_seq as seq from pot_lease_gateways
     where lease_id = ${toUuid(leaseId)} and org_id = ${toUuid(orgId)}
  `.execute(db.kysely);
  return rows.map(({ gateway_id: gatewayId, stream, seq }) => ({
    gatewayId,
    ended: stream === null || seq === null ? null : { stream, seq },
  }));
}

/** The newest closing epoch whose end this gateway has not reported; 0 if there is none. */
export async function findEpochToEnd(db: Reader, lease: LeaseSeriesRef, gatewayId: string): Promise<bigint> {
  const { rows } = await sql<{ epoch: bigint | null }>`
    select max(lease.epoch) as epoch
      from pot_lease_gateways told join pot_leases lease on lease.id = told.lease_id
     where told.gateway_id = ${gatewayId} and told.ended_at_seq is null and lease.state = 'closing'
       and lease.org_id = ${toUuid(lease.orgId)} and lease.mode = ${lease.mode} and lease.cell = ${lease.cell}
  `.execute(db.kysely);
  return rows[0]?.epoch ?? 0n;
}

/** Records the stream position of the end marker. The first marker counts; a repetition changes nothing. */
export async function recordEpochEnd(
  tx: Tx,
  end: EpochEnd,
  at: { readonly stream: string; readonly seq: bigint },
): Promise<void> {
  await sql`
    update pot_lease_gateways told
       set ended_stream = ${at.stream}, ended_at_seq = ${at.seq}
      from pot_leases lease
     where lease.id = told.lease_id and told.gateway_id = ${end.gatewayId} and told.ended_at_seq is null
       and lease.org_id = ${toUuid(end.orgId)} and lease.mode = ${end.mode} and lease.cell = ${end.cell}
       and lease.epoch <= ${end.throughEpoch}
  `.execute(tx.kysely);
}

/** Declares gateways without contact since `before` dead, on every lease that they hold. */
export async function declareHoldersDead(tx: Tx, cell: number, before: Date): Promise<number> {
  const { rows } = await sql<{ lease_id: string }>`
    update pot_lease_gateways told
       set declared_dead_at = ${tx.clock.now()}
      from pot_gateways gateway
     where gateway.gateway_id = told.gateway_id and gateway.cell = ${cell} and gateway.last_seen_at < ${before}
       and told.ended_at_seq is null and told.declared_dead_at is null
    returning told.lease_id
  `.execute(tx.kysely);
  return rows.length;
}

interface HolderRow {
  readonly gateway_id: string;
  readonly org_id: string;
  readonly mode: Mode;
  readonly cell: number;
  readonly epoch: bigint;
}

const toHolder = (row: HolderRow) => ({
  gatewayId: row.gateway_id,
  orgId: fromUuid('org', row.org_id),
  mode: row.mode,
  cell: row.cell,
});

/** The end markers to publish on behalf of dead gateways. */
export async function listDeadHoldersToEnd(db: Reader, cell: number, limit: number): Promise<EpochEnd[]> {
  const now = db.clock.now();
  const item = sql<string>`told.gateway_id || ' ' || lease.org_id::text || ' ' || lease.mode`;
  const { rows } = await sql<HolderRow>`
    select told.gateway_id, lease.org_id, lease.mode, lease.cell, max(lease.epoch) as epoch
      from pot_lease_gateways told join pot_leases lease on lease.id = told.lease_id
     where told.declared_dead_at is not null and told.given_back_at is null and told.ended_at_seq is null
       and lease.cell = ${cell} and ${isItemAvailable(endDeadHolders, item, now)}
     group by told.gateway_id, lease.org_id, lease.mode, lease.cell
     limit ${limit}
  `.execute(db.kysely);
  return rows.map((row) => ({ ...toHolder(row), throughEpoch: row.epoch }));
}

export interface EndedHolder extends LeaseSeriesRef {
  readonly leaseId: LeaseId;
  readonly gatewayId: string;
  readonly epoch: bigint;
  readonly generation: bigint;
}

/** Ended or dead holders of open leases whose last usage has been processed: their reservations can be released. */
export async function listProcessedHolders(db: Reader, cell: number, limit: number): Promise<EndedHolder[]> {
  const now = db.clock.now();
  const item = sql<string>`told.lease_id::text || ' ' || told.gateway_id`;
  const { rows } = await sql<HolderRow & { lease_id: string; generation: bigint }>`
    select told.lease_id, told.gateway_id, lease.org_id, lease.mode, lease.cell, lease.epoch, lease.generation
      from pot_lease_gateways told
      join pot_leases lease on lease.id = told.lease_id
      join usage_watermarks mark on mark.stream = told.ended_stream and mark.passed_seq >= told.ended_at_seq
     where told.ended_at_seq is not null and told.given_back_at is null
       and lease.cell = ${cell} and lease.state = 'open' and ${hasNoDeferredUsage}
       and ${isItemAvailable(releaseEndedHolders, item, now)}
     limit ${limit}
  `.execute(db.kysely);
  return rows.map((row) => {
    const { epoch, generation } = row;
    return { ...toHolder(row), leaseId: fromUuid('lse', row.lease_id), epoch, generation };
  });
}

/** From now on usage of this holder is recorded and not charged. The lease row must be locked. */
export async function markHolderSettled(tx: Tx, orgId: OrgId, ended: EndedHolder): Promise<void> {
  await sql`
    update pot_lease_gateways set settled_at = coalesce(settled_at, ${tx.clock.now()})
     where lease_id = ${toUuid(ended.leaseId)} and gateway_id = ${ended.gatewayId} and org_id = ${toUuid(orgId)}
  `.execute(tx.kysely);
}

export async function markHolderReleased(tx: Tx, orgId: OrgId, ended: EndedHolder): Promise<void> {
  await sql`
    update pot_lease_gateways set given_back_at = ${tx.clock.now()}
     where lease_id = ${toUuid(ended.leaseId)} and gateway_id = ${ended.gatewayId} and org_id = ${toUuid(orgId)}
       and settled_at is not null
  `.execute(tx.kysely);
}

export async function markAllHoldersReleased(tx: Tx, orgId: OrgId, leaseId: LeaseId): Promise<void> {
  const now = tx.clock.now();
  await sql`
    update pot_lease_gateways set settled_at = coalesce(settled_at, ${now}), given_back_at = ${now}
     where lease_id = ${toUuid(leaseId)} and org_id = ${toUuid(orgId)} and given_back_at is null
  `.execute(tx.kysely);
}

/** Returns `lease gateway` for each holder whose usage is no longer charged. */
export async function listSettledHolders(
  db: Reader,
  leaseIds: readonly LeaseId[],
  gatewayIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (leaseIds.length === 0) return new Set();
  const { rows } = await sql<{ lease_id: string; gateway_id: string }>`
    select lease_id, gateway_id from pot_lease_gateways
     where lease_id = any(${leaseIds.map(toUuid)}::uuid[]) and gateway_id = any(${[...gatewayIds]}::text[])
       and settled_at is not null
  `.execute(db.kysely);
  return new Set(rows.map((row) => `${fromUuid('lse', row.lease_id)} ${row.gateway_id}`));
}

export async function deleteUnusedGateways(tx: Tx, cell: number, before: Date, limit: number): Promise<void> {
  await sql`
    delete from pot_gateways where gateway_id in (
      select gateway_id from pot_gateways gateway
       where cell = ${cell} and last_seen_at < ${before}
         and not exists (select from pot_lease_gateways told
                          where told.gateway_id = gateway.gateway_id and told.ended_at_seq is null)
       limit ${limit})
  `.execute(tx.kysely);
}
