import type { Db, Reader, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type OrgId, type WebhookId } from '@millrace/platform/ids';
import { sql, type RawBuilder } from 'kysely';
import { deliveryFromRow, type DeliveryRow } from './deliveries.store.ts';
import { ATTEMPTS_STORED_MAX } from './webhook.ts';
import type { Attempt, Delivery, DeliveryStatus, SealedSecrets } from './webhook.ts';

/** Claims of workers on webhooks. Leases use `clock_timestamp()` and a growing fence; due times use `db.clock`. */

export interface ClaimedWebhook {
  readonly id: WebhookId;
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly holder: string;
  readonly fence: bigint;
  /** Whether the last attempt had failed when the webhook was claimed. */
  readonly wasFailing: boolean;
}

interface ClaimedWebhookRow {
  webhook_id: string;
  org_id: string;
  mode: Mode;
  fence: bigint;
  failing: boolean;
}

export interface ClaimRequest {
  readonly holder: string;
  readonly now: Date;
  readonly ttlMs: number;
  /** Limits for healthy webhooks and for those whose last attempt failed. */
  readonly working: number;
  readonly failing: number;
}

/** Claims free webhooks with due deliveries, longest due first. */
export async function claimWebhooks(db: Db, request: ClaimRequest): Promise<readonly ClaimedWebhook[]> {
  const { holder, now } = request;
  const free = (failing: boolean, limit: number) => sql`
    select webhook_id from webhook_queues
     where next_due_at <= ${now} and failing = ${failing}
       and (lease_until is null or lease_until <= clock_timestamp())
     order by next_due_at limit ${limit}
     for update skip locked`;
  const { rows } = await sql<ClaimedWebhookRow>`
    with working as (${free(false, request.working)}),
    failing as (${free(true, request.failing)})
    update webhook_queues queue
       set holder = ${holder}, fence = queue.fence + 1,
           lease_until = clock_timestamp() + ${request.ttlMs} * interval '1 millisecond'
      from (select webhook_id from working union all select webhook_id from failing) as taken
     where queue.webhook_id = taken.webhook_id
    returning queue.webhook_id, queue.org_id, queue.mode, queue.fence, queue.failing
  `.execute(db.kysely);
  return rows.map((row) => ({
    id: fromUuid('whk', row.webhook_id),
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    holder,
    fence: row.fence,
    wasFailing: row.failing,
  }));
}

/**
 * Renews the leases of webhooks that this worker is sending for, and of no others: an interrupted webhook must expire.
 * Rows locked by others are skipped until the next renewal, which prevents deadlocks; three renewals fit into one TTL.
 */
export async function renewWebhookLeases(
  db: Db,
  holder: string,
  running: readonly ClaimedWebhook[],
  ttlMs: number,
): Promise<void> {
  const ids = running.map(({ id }) => toUuid(id));
  const fences = running.map(({ fence }) => fence);
  await sql`
    update webhook_queues queue
       set lease_until = clock_timestamp() + ${ttlMs} * interval '1 millisecond'
      from (select held.webhook_id
              from webhook_queues held
              join unnest(${ids}::uuid[], ${fences}::bigint[]) as sending (webhook_id, fence)
                on sending.webhook_id = held.webhook_id and sending.fence = held.fence
             where held.holder = ${holder} and held.lease_until > clock_timestamp()
               for update of held skip locked) as mine
     where queue.webhook_id = mine.webhook_id
  `.execute(db.kysely);
}

export interface WebhookSendState {
  readonly enabled: boolean;
  readonly url: string;
  readonly secrets: SealedSecrets;
  readonly failing: boolean;
  readonly lastSucceededAt: Date | null;
  /** Increases whenever deliveries are added. */
  readonly wakes: bigint;
}

/** Null once another worker holds the webhook, or it was deleted. */
export async function readSendState(db: Db, held: ClaimedWebhook): Promise<WebhookSendState | null> {
  const row = await db.kysely
    .selectFrom('webhook_queues as queue')
    .innerJoin('webhooks as webhook', 'webhook.id', 'queue.webhook_id')
    .select([
      'webhook.status',
      'webhook.url',
      'webhook.secret_sealed',
      'webhook.previous_secret_sealed',
      'webhook.previous_secret_until',
      'webhook.failing_since',
      'webhook.last_succeeded_at',
      'queue.wakes',
    ])
    .where('queue.webhook_id', '=', toUuid(held.id))
    .where('queue.org_id', '=', toUuid(held.orgId))
    .where('queue.holder', '=', held.holder)
    .where('queue.fence', '=', held.fence)
    .where('queue.lease_until', '>', sql<Date>`clock_timestamp()`)
    .executeTakeFirst();
  if (row === undefined) return null;
  const { previous_secret_sealed: sealed, previous_secret_until: until } = row;
  return {
    enabled: row.status === 'enabled',
    url: row.url,
    secrets: {
      current: row.secret_sealed,
      previous: sealed === null || until === null ? null : { sealed, until },
    },
    failing: row.failing_since !== null,
    lastSucceededAt: row.last_succeeded_at,
    wakes: row.wakes,
  };
}

/** A delivery that can be sent after all earlier ones of its resource are done. */
export interface DueDelivery extends Delivery {
  readonly failures: number;
}

/** Pending deliveries of one resource in order. The first is due. */
export interface ResourceQueue {
  /** Identifies the resource within the webhook. */
  readonly resourceKey: string;
  readonly deliveries: readonly DueDelivery[];
}

export interface ResourceQueueQuery {
  readonly now: Date;
  /** Maximum number of queues to return. */
  readonly limit: number;
  /** Resources whose queues are running already. */
  readonly underWay: readonly string[];
}

/** How many due deliveries the first scan reads. It skips those behind an earlier one of the same resource. */
const FIRST_SCAN_LIMIT = 200;
/** Maximum length of one queue; later deliveries wait for the next query. */
const RESOURCE_QUEUE_MAX = 50;

const resourceKeyOf = (row: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`${row}.resource_kind || ' ' || ${row}.resource_id`;

/** Of the first pending deliveries by time, those that are first of their resource, with one index look-up for each. */
function headsAmongFirst(held: ClaimedWebhook, dueBy: Date | null): RawBuilder<unknown> {
  return sql`
    with looked as (
      select * from webhook_deliveries
       where webhook_id = ${toUuid(held.id)} and org_id = ${toUuid(held.orgId)} and status = 'pending'
         and next_attempt_at <= coalesce(${dueBy}::timestamptz, 'infinity')
       order by next_attempt_at, seq limit ${FIRST_SCAN_LIMIT}
    ),
    heads as (
      select * from looked
       where seq = (select ahead.seq from webhook_deliveries ahead
                     where ahead.webhook_id = looked.webhook_id and ahead.status = 'pending'
                       and ahead.resource_kind = looked.resource_kind and ahead.resource_id = looked.resource_id
                     order by ahead.seq limit 1)
    )`;
}

/** The first delivery of each resource by a recursive index scan: cost depends on the number of resources, not deliveries. */
function headsOfResourceQueues(held: ClaimedWebhook): RawBuilder<unknown> {
  const next = (from: RawBuilder<unknown>): RawBuilder<unknown> => sql`
    select webhook_id, resource_kind, resource_id, seq, next_attempt_at from webhook_deliveries
     where webhook_id = ${toUuid(held.id)} and status = 'pending' ${from}
     order by resource_kind, resource_id, seq limit 1`;
  return sql`
    with recursive heads as (
      (${next(sql``)})
      union all
      select further.* from heads cross join lateral (
        ${next(sql`and (resource_kind, resource_id) > (heads.resource_kind, heads.resource_id)`)}) as further
    )`;
}

/** Queues that can be sent now, longest due first. */
export async function findResourceQueues(
  db: Db,
  held: ClaimedWebhook,
  look: ResourceQueueQuery,
): Promise<readonly ResourceQueue[]> {
  const first = await findResourceQueuesFrom(db, headsAmongFirst(held, look.now), look);
  // Scan all resources only if more deliveries are due and the first ones all wait behind others.
  if (first.length > 0 || !(await areMoreDue(db, held, look.now))) return first;
  return findResourceQueuesFrom(db, headsOfResourceQueues(held), look);
}

async function findResourceQueuesFrom(
  db: Db,
  withHeads: RawBuilder<unknown>,
  look: ResourceQueueQuery,
): Promise<readonly ResourceQueue[]> {
  const { rows } = await sql<DeliveryRow & { resource_key: string }>`
    ${withHeads},
    due as (
      select * from heads
       where next_attempt_at <= ${look.now} and ${resourceKeyOf(sql`heads`)} <> all(${look.underWay}::text[])
       order by next_attempt_at, seq limit ${look.limit}
    )
    select following.*, ${resourceKeyOf(sql`following`)} as resource_key
      from due cross join lateral (
        select * from webhook_deliveries
         where webhook_id = due.webhook_id and status = 'pending'
           and resource_kind = due.resource_kind and resource_id = due.resource_id
         order by seq limit ${RESOURCE_QUEUE_MAX}) as following
     order by due.next_attempt_at, due.seq, following.seq
  `.execute(db.kysely);
  const queues = Map.groupBy(rows, (row) => row.resource_key);
  return [...queues].map(([resourceKey, waiting]) => ({
    resourceKey,
    deliveries: waiting.map((row) => ({ ...deliveryFromRow(row), failures: row.failures })),
  }));
}

async function areMoreDue(db: Db, held: ClaimedWebhook, now: Date): Promise<boolean> {
  const { rows } = await sql`
    select from webhook_deliveries
     where webhook_id = ${toUuid(held.id)} and org_id = ${toUuid(held.orgId)} and status = 'pending'
       and next_attempt_at <= ${now}
    offset ${FIRST_SCAN_LIMIT} limit 1
  `.execute(db.kysely);
  return rows.length > 0;
}

/**
 * Releases a webhook until it is due. Returns false if deliveries were added since `wakes` was read, or the lease was
 * lost.
 */
export async function releaseUntilDue(db: Db, held: ClaimedWebhook, wakes: bigint): Promise<boolean> {
  const next =
    (await findNextDue(db, held, headsAmongFirst(held, null))) ??
    (await findNextDue(db, held, headsOfResourceQueues(held)));
  return releaseClaim(db, held, { wakes, next });
}

async function findNextDue(db: Db, held: ClaimedWebhook, heads: RawBuilder<unknown>): Promise<Date | null> {
  const { rows } = await sql<{ next: Date | null }>`
    ${heads}
    select min(heads.next_attempt_at) as next
      from heads join webhooks webhook on webhook.id = heads.webhook_id
     where webhook.org_id = ${toUuid(held.orgId)} and webhook.status = 'enabled'
  `.execute(db.kysely);
  return rows[0]?.next ?? null;
}

/** Releases a webhook so that other workers can claim it at once. */
export async function releaseNow(db: Db, held: ClaimedWebhook, now: Date): Promise<void> {
  await releaseClaim(db, held, { wakes: null, next: now });
}

async function releaseClaim(
  db: Db,
  held: ClaimedWebhook,
  to: { readonly wakes: bigint | null; readonly next: Date | null },
): Promise<boolean> {
  let query = db.kysely
    .updateTable('webhook_queues')
    .set({ holder: null, lease_until: null, next_due_at: to.next })
    .where('webhook_id', '=', toUuid(held.id))
    .where('org_id', '=', toUuid(held.orgId))
    .where('holder', '=', held.holder)
    .where('fence', '=', held.fence);
  if (to.wakes !== null) query = query.where('wakes', '=', to.wakes);
  return (await query.returning('webhook_id').executeTakeFirst()) !== undefined;
}

/** Appends an attempt and drops the oldest beyond the limit. */
function withAttempt(attempt: Attempt): RawBuilder<unknown> {
  return sql`
    case when jsonb_array_length(delivery.attempts) >= ${ATTEMPTS_STORED_MAX} then delivery.attempts - 0 else delivery.attempts end
      || ${JSON.stringify([attempt])}::jsonb`;
}

/** Needs no lease: an event that was accepted stays accepted. Otherwise a slow worker's delivery would be sent again. */
export async function recordDeliverySuccess(
  reader: Reader,
  held: ClaimedWebhook,
  seq: number,
  attempt: Attempt,
): Promise<boolean> {
  const { rows } = await sql`
    update webhook_deliveries delivery
       set status = 'succeeded', failures = 0, next_attempt_at = null, attempts = ${withAttempt(attempt)}
     where delivery.webhook_id = ${toUuid(held.id)} and delivery.org_id = ${toUuid(held.orgId)}
       and delivery.seq = ${seq} and delivery.status = 'pending'
    returning delivery.seq
  `.execute(reader.kysely);
  return rows.length > 0;
}

/** Whether this worker may record the failure; another worker may hold the webhook by now. */
export async function isStillClaimed(tx: Tx, held: ClaimedWebhook): Promise<boolean> {
  const row = await tx.kysely
    .selectFrom('webhook_queues')
    .select('fence')
    .where('webhook_id', '=', toUuid(held.id))
    .where('org_id', '=', toUuid(held.orgId))
    .where('holder', '=', held.holder)
    .where('fence', '=', held.fence)
    .executeTakeFirst();
  return row !== undefined;
}

/** Records a failed or impossible attempt. Returns false when another worker holds the webhook, which will try itself. */
export async function recordDeliveryFailure(
  tx: Tx,
  held: ClaimedWebhook,
  seq: number,
  failure: {
    readonly status: Exclude<DeliveryStatus, 'succeeded'>;
    readonly failures: number;
    readonly attempt: Attempt | null;
    readonly nextAttemptAt: Date | null;
  },
): Promise<boolean> {
  const attempts = failure.attempt === null ? sql`delivery.attempts` : withAttempt(failure.attempt);
  const { rows } = await sql`
    update webhook_deliveries delivery
       set status = ${failure.status}, failures = ${failure.failures}, next_attempt_at = ${failure.nextAttemptAt},
           attempts = ${attempts}
      from webhook_queues queue
     where queue.webhook_id = delivery.webhook_id and queue.holder = ${held.holder} and queue.fence = ${held.fence}
       and delivery.webhook_id = ${toUuid(held.id)} and delivery.org_id = ${toUuid(held.orgId)}
       and delivery.seq = ${seq} and delivery.status = 'pending'
    returning delivery.seq
  `.execute(tx.kysely);
  return rows.length > 0;
}

/** Lets claims distinguish healthy from failing webhooks. */
export async function setQueueFailing(tx: Tx, held: ClaimedWebhook, failing: boolean): Promise<void> {
  await tx.kysely
    .updateTable('webhook_queues')
    .set({ failing })
    .where('webhook_id', '=', toUuid(held.id))
    .where('org_id', '=', toUuid(held.orgId))
    .where('failing', '<>', failing)
    .execute();
}

/** How long the oldest due delivery of a healthy webhook has waited for a worker; operators are alerted on it. */
export async function measureQueues(db: Db, now: Date): Promise<{ readonly oldestDueMs: number }> {
  const row = await db.kysely
    .selectFrom('webhook_queues')
    .select((of) => of.fn.min('next_due_at').as('oldest'))
    .where('next_due_at', '<=', now)
    .where('failing', '=', false)
    .where((of) =>
      of.or([of('lease_until', 'is', null), of('lease_until', '<=', sql<Date>`clock_timestamp()`)]),
    )
    .executeTakeFirst();
  const oldest = row?.oldest ?? null;
  return { oldestDueMs: oldest === null ? 0 : Math.max(0, now.getTime() - oldest.getTime()) };
}
