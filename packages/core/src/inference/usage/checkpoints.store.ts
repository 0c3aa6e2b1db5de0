import type { Reader, Tx } from '@millrace/platform/db';
import { toUuid, type LeaseId, type RequestId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import type { ParsedUsage } from './parse-usage.ts';

/** Stores the latest checkpoint of each running request. */

/** Only the gateway that reported a request first can update it. */
function isSameOwner(one: ParsedUsage, other: ParsedUsage): boolean {
  return (
    one.orgId === other.orgId &&
    one.leaseId === other.leaseId &&
    one.event.gatewayId === other.event.gatewayId
  );
}

/** Keeps the furthest checkpoint of each request, unless the request is already recorded. */
export async function upsertCheckpoints(tx: Tx, checkpoints: readonly ParsedUsage[]): Promise<void> {
  const furthest = new Map<RequestId, ParsedUsage>();
  for (const one of checkpoints) {
    if (one.leaseId === null) continue;
    const known = furthest.get(one.requestId);
    if (known === undefined || (isSameOwner(one, known) && one.amount >= known.amount)) {
      furthest.set(one.requestId, one);
    }
  }
  if (furthest.size === 0) return;
  const rows = [...furthest.values()].map(({ event, requestId, orgId, leaseId, amount }) => ({
    request_id: toUuid(requestId),
    org_id: toUuid(orgId),
    mode: event.mode,
    lease_id: leaseId === null ? null : toUuid(leaseId),
    gateway_id: event.gatewayId,
    amount_nano_usd: amount.toString(),
    event,
  }));
  await sql`
    insert into inference_checkpoints as kept (
      request_id, org_id, mode, lease_id, gateway_id, amount_nano_usd, event, recorded_at)
    select request_id, org_id, mode, lease_id, gateway_id, amount_nano_usd, event, ${tx.clock.now()}
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as said (
        request_id uuid, org_id uuid, mode text, lease_id uuid, gateway_id text, amount_nano_usd bigint, event jsonb)
     where not exists (select from inference_requests recorded where recorded.id = said.request_id)
     order by request_id
    on conflict (request_id) do update
       set amount_nano_usd = excluded.amount_nano_usd, event = excluded.event, recorded_at = excluded.recorded_at
     where kept.amount_nano_usd <= excluded.amount_nano_usd
       and (kept.org_id, kept.lease_id, kept.gateway_id) = (excluded.org_id, excluded.lease_id, excluded.gateway_id)
  `.execute(tx.kysely);
}

/** The checkpoints of a lease, or of one gateway on it. The caller must have locked the lease. */
export async function listCheckpoints(
  reader: Reader,
  leaseId: LeaseId,
  gatewayId: string | null,
): Promise<readonly unknown[]> {
  const ofGateway = gatewayId === null ? sql`true` : sql`gateway_id = ${gatewayId}`;
  const { rows } = await sql<{ event: unknown }>`
    select event from inference_checkpoints
     where lease_id = ${toUuid(leaseId)} and ${ofGateway} order by request_id
  `.execute(reader.kysely);
  return rows.map(({ event }) => event);
}

export async function deleteCheckpoints(tx: Tx, requestIds: readonly RequestId[]): Promise<void> {
  if (requestIds.length === 0) return;
  await sql`
    delete from inference_checkpoints where request_id = any(${requestIds.map(toUuid)}::uuid[])
  `.execute(tx.kysely);
}

/** Deletes checkpoints that arrived after their lease was closed, which no one will charge. */
export async function deleteOldCheckpoints(tx: Tx, before: Date, limit: number): Promise<number> {
  const { rows } = await sql<{ request_id: string }>`
    delete from inference_checkpoints where request_id in (
      select request_id from inference_checkpoints where recorded_at < ${before} order by recorded_at limit ${limit})
    returning request_id
  `.execute(tx.kysely);
  return rows.length;
}
