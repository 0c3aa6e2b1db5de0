import type { Db, Reader, Tables, Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type DeliveryId, type OrgId, type WebhookId } from '@millrace/platform/ids';
import { sql, type Selectable } from 'kysely';
import { eventsInRange } from '../events/index.ts';
import type { Attempt, Delivery, DeliveryStatus, Webhook } from './webhook.ts';

/** SQL of deliveries as their owner sees them. The trigger on events inserts new deliveries. */

export type DeliveryRow = Selectable<Tables['webhook_deliveries']>;

export function deliveryFromRow(row: DeliveryRow): Delivery {
  return {
    id: fromUuid('dlv', row.id),
    webhookId: fromUuid('whk', row.webhook_id),
    eventId: fromUuid('evt', row.event_id),
    eventType: row.event_type,
    seq: Number(row.seq),
    status: row.status,
    // Written only by `recordDeliverySuccess` and `recordDeliveryFailure`.
    attempts: row.attempts as unknown as readonly Attempt[],
    nextAttemptAt: row.next_attempt_at,
    createdAt: row.created_at,
  };
}

/** Maximum number of deliveries that one change of a webhook retries at once. */
const RESET_DELIVERIES_MAX = 1_000;

/** Newest first. */
export async function listDeliveries(
  reader: Reader,
  orgId: OrgId,
  webhookId: WebhookId,
  page: { readonly limit: number; readonly before: number | null; readonly status: DeliveryStatus | null },
): Promise<readonly Delivery[]> {
  let query = reader.kysely
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('webhook_id', '=', toUuid(webhookId))
    .where('org_id', '=', toUuid(orgId));
  if (page.before !== null) query = query.where('seq', '<', BigInt(page.before));
  if (page.status !== null) query = query.where('status', '=', page.status);
  const newest = query.orderBy('seq', 'desc').limit(page.limit + 1);
  const rows = await newest.execute();
  return rows.map(deliveryFromRow);
}

/** Sends a delivery again, or immediately if it waits for its next attempt. Null when it does not exist. */
export async function replayDelivery(
  tx: Tx,
  orgId: OrgId,
  webhookId: WebhookId,
  id: DeliveryId,
): Promise<Delivery | null> {
  const now = tx.clock.now();
  const row = await tx.kysely
    .updateTable('webhook_deliveries')
    .set({ status: 'pending', failures: 0, next_attempt_at: now })
    .where('webhook_id', '=', toUuid(webhookId))
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) return null;
  await wakeQueue(tx, orgId, webhookId);
  return deliveryFromRow(row);
}

export interface ReplayedRange {
  readonly count: number;
  readonly lastSeq: number | null;
}

/** Sends every wanted event of a range again, sent before or not, up to the oldest `limit`. Deleted events are skipped. */
export async function replayRange(
  tx: Tx,
  webhook: Webhook,
  range: { readonly after: number; readonly until: number | null; readonly limit: number },
): Promise<ReplayedRange> {
  const { orgId, id, mode, eventTypes } = webhook;
  const webhookId = toUuid(id);
  const { rows } = await sql<{ count: bigint; last_seq: bigint | null }>`
    with wanted as (
      select seq, id, type, resource_kind, resource_id
        from ${eventsInRange(orgId, mode, { ...range, types: eventTypes.includes('*') ? null : eventTypes })} as event
    ),
    made as (
      insert into webhook_deliveries
        (webhook_id, seq, id, org_id, mode, event_id, event_type, resource_kind, resource_id, next_attempt_at)
      select ${webhookId}::uuid, seq, webhook_delivery_id(id, ${webhookId}::uuid), ${toUuid(orgId)}::uuid, ${mode}, id,
             type, resource_kind, resource_id, ${tx.clock.now()}
        from wanted order by seq
      on conflict (webhook_id, seq) do update
         set status = 'pending', failures = 0, next_attempt_at = excluded.next_attempt_at
      returning seq
    )
    select count(*) as count, max(seq) as last_seq from made
  `.execute(tx.kysely);
  const [made] = rows;
  await wakeQueue(tx, orgId, id);
  const lastSeq = made?.last_seq ?? null;
  return { count: Number(made?.count ?? 0n), lastSeq: lastSeq === null ? null : Number(lastSeq) };
}

/** Marks the webhook as due. With `fresh` (new URL, or enabled again) its failed deliveries restart their retry schedule. */
export async function wakeQueue(
  tx: Tx,
  orgId: OrgId,
  webhookId: WebhookId,
  { fresh = false }: { readonly fresh?: boolean } = {},
): Promise<void> {
  const now = tx.clock.now();
  if (fresh) {
    // Untried deliveries are due already. At most one per resource was tried; those beyond the limit keep their time.
    await sql`
      update webhook_deliveries delivery set failures = 0, next_attempt_at = ${now}
        from (select seq from webhook_deliveries
               where webhook_id = ${toUuid(webhookId)} and org_id = ${toUuid(orgId)} and status = 'pending'
                 and next_attempt_at > ${now}
               order by seq limit ${RESET_DELIVERIES_MAX}) as tried
       where delivery.webhook_id = ${toUuid(webhookId)} and delivery.seq = tried.seq and delivery.status = 'pending'
    `.execute(tx.kysely);
  }
  await sql`
    update webhook_queues
       set next_due_at = least(next_due_at, ${now}), wakes = wakes + 1, failing = failing and not ${fresh}
     where webhook_id = ${toUuid(webhookId)} and org_id = ${toUuid(orgId)}
  `.execute(tx.kysely);
}

/** Abandons pending deliveries of disabled webhooks in one batch. Call again while the batch was full. */
export async function abandonDeliveries(
  tx: Tx,
  of: { readonly webhookId: WebhookId | null; readonly limit: number },
): Promise<number> {
  const only = of.webhookId === null ? sql`` : sql`and webhook.id = ${toUuid(of.webhookId)}`;
  const { numAffectedRows } = await sql`
    update webhook_deliveries delivery set status = 'abandoned', next_attempt_at = null
      from (select waiting.webhook_id, waiting.seq
              from webhooks webhook
              join webhook_deliveries waiting on waiting.webhook_id = webhook.id and waiting.status = 'pending'
             where webhook.status = 'disabled' ${only}
             limit ${of.limit}) as off
     where delivery.webhook_id = off.webhook_id and delivery.seq = off.seq and delivery.status = 'pending'
  `.execute(tx.kysely);
  return Number(numAffectedRows ?? 0n);
}

/** Deletes finished deliveries older than this by the database's clock. */
export async function deleteOldDeliveries(
  db: Db,
  sweep: { readonly olderThanMs: number; readonly limit: number },
): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from webhook_deliveries delivery
     using (select webhook_id, seq from webhook_deliveries
             where created_at < clock_timestamp() - ${sweep.olderThanMs} * interval '1 millisecond'
               and status <> 'pending'
             order by created_at limit ${sweep.limit}) as old
     where delivery.webhook_id = old.webhook_id and delivery.seq = old.seq and delivery.status <> 'pending'
  `.execute(db.kysely);
  return Number(numAffectedRows ?? 0n);
}

/** Deletes webhooks without deliveries whose deletion is so old that no worker sends for them. */
export async function purgeDeletedWebhooks(
  tx: Tx,
  sweep: { readonly deletedBefore: Date; readonly limit: number },
): Promise<number> {
  const { rows } = await sql<{ id: string }>`
    delete from webhooks where id in (
      select webhook.id from webhooks webhook
       where webhook.status = 'disabled' and webhook.deleted_at < ${sweep.deletedBefore}
         and not exists (select 1 from webhook_deliveries kept where kept.webhook_id = webhook.id)
       limit ${sweep.limit})
    returning id
  `.execute(tx.kysely);
  const ids = rows.map(({ id }) => id);
  await sql`delete from webhook_queues where webhook_id = any(${ids}::uuid[])`.execute(tx.kysely);
  return ids.length;
}
