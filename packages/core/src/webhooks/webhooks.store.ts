import type { Reader, Tables, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type OrgId, type UserId, type WebhookId } from '@millrace/platform/ids';
import type { Selectable, Updateable } from 'kysely';
import type { DisabledBy, SealedSecrets, Webhook } from './webhook.ts';

/** SQL of webhooks. To prevent deadlocks, rows are locked in this order: webhooks, deliveries, queues. */

function fromRow(row: Selectable<Tables['webhooks']>): Webhook {
  const { previous_secret_sealed: sealed, previous_secret_until: until } = row;
  return {
    id: fromUuid('whk', row.id),
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    url: row.url,
    description: row.description,
    eventTypes: row.event_types,
    status: row.status,
    disabledReason: row.disabled_reason,
    createdBy: fromUuid('usr', row.created_by),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    lastSucceededAt: row.last_succeeded_at,
    failingSince: row.failing_since,
    secrets: {
      current: row.secret_sealed,
      previous: sealed === null || until === null ? null : { sealed, until },
    },
  };
}

export interface NewWebhook {
  readonly id: WebhookId;
  readonly mode: Mode;
  readonly url: string;
  readonly description: string;
  readonly eventTypes: readonly string[];
  readonly secretSealed: string;
  readonly createdBy: UserId;
}

/** Inserts the webhook and its queue together. */
export async function insertWebhook(tx: Tx, orgId: OrgId, webhook: NewWebhook): Promise<Webhook> {
  const now = tx.clock.now();
  const { id, mode, url, description, eventTypes } = webhook;
  const row = await tx.kysely
    .insertInto('webhooks')
    .values({
      id: toUuid(id),
      org_id: toUuid(orgId),
      mode,
      url,
      description,
      event_types: [...eventTypes],
      status: 'enabled',
      secret_sealed: webhook.secretSealed,
      created_by: toUuid(webhook.createdBy),
      created_at: now,
      updated_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  await tx.kysely
    .insertInto('webhook_queues')
    .values({ webhook_id: toUuid(id), org_id: toUuid(orgId), mode })
    .execute();
  return fromRow(row);
}

export async function countWebhooks(reader: Reader, orgId: OrgId, mode: Mode): Promise<number> {
  const { count } = await reader.kysely
    .selectFrom('webhooks')
    .select((of) => of.fn.countAll<bigint>().as('count'))
    .where('org_id', '=', toUuid(orgId))
    .where('mode', '=', mode)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Newest first. */
export async function listWebhooks(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  page: { readonly limit: number; readonly after: WebhookId | null },
): Promise<readonly Webhook[]> {
  let query = reader.kysely
    .selectFrom('webhooks')
    .selectAll()
    .where('org_id', '=', toUuid(orgId))
    .where('mode', '=', mode)
    .where('deleted_at', 'is', null);
  if (page.after !== null) query = query.where('id', '<', toUuid(page.after));
  const newest = query.orderBy('id', 'desc').limit(page.limit + 1);
  const rows = await newest.execute();
  return rows.map(fromRow);
}

export async function findWebhook(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  id: WebhookId,
): Promise<Webhook | null> {
  const row = await reader.kysely
    .selectFrom('webhooks')
    .selectAll()
    .where('org_id', '=', toUuid(orgId))
    .where('mode', '=', mode)
    .where('id', '=', toUuid(id))
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return row === undefined ? null : fromRow(row);
}

export interface WebhookChange {
  readonly url?: string | undefined;
  readonly description?: string | undefined;
  readonly eventTypes?: readonly string[] | undefined;
  readonly status?: 'enabled' | { readonly disabledReason: string } | undefined;
  /** A new secret; the previous one signs until its time ends. */
  readonly secret?: { readonly sealed: string; readonly previous: Webhook['secrets']['previous'] };
  readonly deleted?: true;
}

/** Null when the webhook does not exist. */
export async function updateWebhook(
  tx: Tx,
  { orgId, id }: Pick<Webhook, 'orgId' | 'id'>,
  change: WebhookChange,
): Promise<Webhook | null> {
  const now = tx.clock.now();
  const row = await tx.kysely
    .updateTable('webhooks')
    .set({ ...columnsOf(change, now), updated_at: now })
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .where('deleted_at', 'is', null)
    .returningAll()
    .executeTakeFirst();
  return row === undefined ? null : fromRow(row);
}

function columnsOf(change: WebhookChange, now: Date): Updateable<Tables['webhooks']> {
  const { url, description, eventTypes, status, secret, deleted } = change;
  // A changed URL or an enabled webhook has no failures yet.
  const isFresh = url !== undefined || status === 'enabled';
  return {
    ...(url === undefined ? {} : { url }),
    ...(description === undefined ? {} : { description }),
    ...(eventTypes === undefined ? {} : { event_types: [...eventTypes] }),
    ...(isFresh ? { failing_since: null, last_error: null } : {}),
    ...(status === undefined ? {} : statusColumns(status, 'person', now)),
    ...(secret === undefined
      ? {}
      : {
          secret_sealed: secret.sealed,
          previous_secret_sealed: secret.previous?.sealed ?? null,
          previous_secret_until: secret.previous?.until ?? null,
        }),
    ...(deleted === undefined ? {} : { deleted_at: now }),
  };
}

function statusColumns(
  status: 'enabled' | { readonly disabledReason: string },
  by: DisabledBy,
  now: Date,
): Updateable<Tables['webhooks']> {
  return status === 'enabled'
    ? { status, disabled_by: null, disabled_reason: null, disabled_at: null }
    : { status: 'disabled', disabled_by: by, disabled_reason: status.disabledReason, disabled_at: now };
}

export async function recordWebhookSuccess(tx: Tx, webhook: Pick<Webhook, 'orgId' | 'id'>): Promise<void> {
  await tx.kysely
    .updateTable('webhooks')
    .set({ last_succeeded_at: tx.clock.now(), failing_since: null, last_error: null })
    .where('org_id', '=', toUuid(webhook.orgId))
    .where('id', '=', toUuid(webhook.id))
    .execute();
}

/** Whether the webhook still has this URL. Changes of it wait until the transaction ends. */
export async function lockIfUrlUnchanged(
  tx: Tx,
  { orgId, id }: Pick<Webhook, 'orgId' | 'id'>,
  url: string,
): Promise<boolean> {
  const row = await tx.kysely
    .selectFrom('webhooks')
    .select('url')
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row?.url === url;
}

/** Returns the start of the failures; null when the webhook is not enabled. */
export async function recordWebhookFailure(
  tx: Tx,
  { orgId, id }: Pick<Webhook, 'orgId' | 'id'>,
  error: string,
): Promise<Date | null> {
  const now = tx.clock.now();
  const row = await tx.kysely
    .updateTable('webhooks')
    .set((of) => ({
      failing_since: of.fn.coalesce('failing_since', of.val(now)),
      last_error: error,
    }))
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .where('status', '=', 'enabled')
    .returning('failing_since')
    .executeTakeFirst();
  return row?.failing_since ?? null;
}

export async function disableFailing(
  tx: Tx,
  { orgId, id }: Pick<Webhook, 'orgId' | 'id'>,
  disabledReason: string,
): Promise<boolean> {
  const now = tx.clock.now();
  const row = await tx.kysely
    .updateTable('webhooks')
    .set({ ...statusColumns({ disabledReason }, 'failures', now), updated_at: now })
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .where('status', '=', 'enabled')
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** One page of all webhooks by id. Deleted webhooks need no secret. */
export async function listWebhooksToReseal(
  reader: Reader,
  page: { readonly after: WebhookId | null; readonly limit: number },
): Promise<readonly Webhook[]> {
  let query = reader.kysely.selectFrom('webhooks').selectAll().where('deleted_at', 'is', null);
  if (page.after !== null) query = query.where('id', '>', toUuid(page.after));
  return (await query.orderBy('id').limit(page.limit).execute()).map(fromRow);
}

/** Stores resealed secrets unless they were rotated in the meantime. */
export async function replaceSealed(
  tx: Tx,
  { orgId, id, secrets }: Pick<Webhook, 'orgId' | 'id' | 'secrets'>,
  resealed: SealedSecrets,
): Promise<void> {
  await tx.kysely
    .updateTable('webhooks')
    .set({
      secret_sealed: resealed.current,
      previous_secret_sealed: resealed.previous?.sealed ?? null,
      previous_secret_until: resealed.previous?.until ?? null,
    })
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .where('secret_sealed', '=', secrets.current)
    .execute();
}
