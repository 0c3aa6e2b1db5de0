import type { Db, Reader, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type OrgId, type WebhookId } from '@millrace/platform/ids';
import { sql, type RawBuilder } from 'kysely';
import { deliveryFromRow, type DeliveryRow } from './deliveries.store.ts';
import { ATTEMPTS_STORED_MAX } from './webhook.ts';
import type { Attempt, Delivery, DeliveryStatus, SealedSecrets } from './webhook.ts';

/**
 * All SQL about who sends what. A worker holds a webhook for a time, by the database's clock, under a fence that grows at
 * each change of hands; what is due goes by the clock of the workers.
 */

/** A webhook that this worker sends for. */
export interface ClaimedWebhook {
  readonly id: WebhookId;
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly holder: string;
  readonly fence: bigint;
  /** Its last attempt had failed when it was taken. */
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
  /** How many of those that work, and of those whose last attempt failed. */
  readonly working: number;
  readonly failing: number;
}

/** Takes webhooks that have something due and that nobody holds, the longest due first. */
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
 * Prolongs what this worker is sending for, and nothing else that is under its name: what it was interrupted over has to
 * run out. A row that is being written to just now is left for the next time: three renewals fit into one time to live,
 * and waiting for several rows could end in a circle.
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

/** What a worker that holds a webhook must know to send for it. */
export interface WebhookSendState {
  readonly enabled: boolean;
  readonly url: string;
  readonly secrets: SealedSecrets;
  readonly failing: boolean;
  readonly lastSucceededAt: Date | null;
  /** Grows with whatever is added. */
  readonly wakes: bigint;
}

/** Null once the webhook is another worker's, or gone. */
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

/** One that may be sent once those before it in its lane are done with. */
export interface DueDelivery extends Delivery {
  readonly failures: number;
}

/** What waits about one thing, in order: the first is due, the others follow it. */
export interface ResourceQueue {
  /** Names the thing among those of the webhook. */
  readonly resourceKey: string;
  readonly deliveries: readonly DueDelivery[];
}

export interface ResourceQueueQuery {
  readonly now: Date;
  /** How many lanes at most. */
  readonly limit: number;
  /** Things that are being sent about already. */
  readonly underWay: readonly string[];
}

/** How many due deliveries are looked through first. Those behind an earlier one about the same thing are passed over. */
const FIRST_SCAN_LIMIT = 200;
/** How far a lane reaches: what comes after waits for the next look. */
const RESOURCE_QUEUE_MAX = 50;

const resourceKeyOf = (row: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`${row}.resource_kind || ' ' || ${row}.resource_id`;

/**
 * Of the deliveries that wait, the first few by their time: those that nothing about the same thing is ahead of. One look
 * at an index for each, whatever the planner believes.
 */
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

/** The first of each lane, from one lane to the next: what it costs goes by how many lanes there are, not by their length. */
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

/** What may be sent now, the longest due first. */
export async function findResourceQueues(
  db: Db,
  held: ClaimedWebhook,
  look: ResourceQueueQuery,
): Promise<readonly ResourceQueue[]> {
  const first = await findResourceQueuesFrom(db, headsAmongFirst(held, look.now), look);
  // Only if there are more, and all of those wait for others, are all lanes worth looking at.
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
 * Lets a webhook go until something of it is due again. False when something was added since `wakes` was read, which may
 * be due already, or when the webhook is another worker's.
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

/** Lets a webhook go for others to take up at once. */
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

/** The newest attempts stay, this one the last of them. */
function withAttempt(attempt: Attempt): RawBuilder<unknown> {
  return sql`
    case when jsonb_array_length(delivery.attempts) >= ${ATTEMPTS_STORED_MAX} then delivery.attempts - 0 else delivery.attempts end
      || ${JSON.stringify([attempt])}::jsonb`;
}

/**
 * That an event was accepted is so whoever holds the webhook by now, so it takes no lease to write it down: a worker that
 * was slow would otherwise have sent in vain, and so might the next.
 */
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

/** Whether what this worker saw is its to write down: the webhook may be another's by now. */
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

/**
 * That an attempt failed, or that none can be made any more. False when the webhook is another worker's by now, which will
 * find out for itself.
 */
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

/** So that claims tell webhooks that work from those that do not. */
export async function setQueueFailing(tx: Tx, held: ClaimedWebhook, failing: boolean): Promise<void> {
  await tx.kysely
    .updateTable('webhook_queues')
    .set({ failing })
    .where('webhook_id', '=', toUuid(held.id))
    .where('org_id', '=', toUuid(held.orgId))
    .where('failing', '<>', failing)
    .execute();
}

/** For how long the longest waiting webhook has had something due that nobody sends; for the alert of an operator. */
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
