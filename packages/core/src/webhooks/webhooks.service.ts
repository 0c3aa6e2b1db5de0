import type { Db, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { Fault } from '@millrace/platform/fault';
import type { DeliveryId, OrgId, WebhookId } from '@millrace/platform/ids';
import type { NetGuard } from '@millrace/platform/net';
import type { Sealer } from '@millrace/platform/secrets';
import { appendAuditEntry, authorizeCaller, type CallContext } from '../identity/index.ts';
import {
  abandonDeliveries,
  listDeliveries,
  replayDelivery,
  replayRange,
  wakeQueue,
  type ReplayedRange,
} from './deliveries.store.ts';
import { sealAsPrevious, sealSecret } from './sealed-secrets.ts';
import { mintSecret } from './signing.ts';
import { originOf, requireDeliverableUrl } from './webhook-url.ts';
import { REPLAY_MAX, WEBHOOKS_MAX, type Delivery, type DeliveryStatus, type Webhook } from './webhook.ts';
import { countWebhooks, findWebhook, insertWebhook, updateWebhook } from './webhooks.store.ts';

/** The use cases of webhooks. Keys of the other mode cannot see them. */

export interface WebhookDeps {
  readonly sealer: Sealer;
  readonly guard: NetGuard;
}

/** With the secret in clear text, which is shown only in this response. */
export interface WebhookWithSecret {
  readonly webhook: Webhook;
  readonly secret: string;
}

/** One statement abandons pending deliveries up to this limit; a sweep abandons the rest. */
const ABANDON_BATCH = 500;

export async function createWebhook(
  tx: Tx,
  deps: WebhookDeps,
  call: CallContext,
  fields: { readonly url: string; readonly description: string; readonly eventTypes: readonly string[] },
): Promise<WebhookWithSecret> {
  const { orgId, cause } = call;
  requireDeliverableUrl(deps.guard, fields.url);
  const { key } = await authorizeCaller(tx, call, 'webhooks:write');
  if ((await countWebhooks(tx, orgId, cause.mode)) >= WEBHOOKS_MAX) throw new Fault('WEBHOOK_LIMIT_REACHED');
  const id = tx.ids.next('whk');
  const secret = mintSecret();
  const webhook = await insertWebhook(tx, orgId, {
    id,
    mode: cause.mode,
    url: fields.url,
    description: fields.description,
    eventTypes: [...new Set(fields.eventTypes)],
    secretSealed: sealSecret(deps.sealer, id, 'current', secret),
    createdBy: key.userId,
  });
  await appendAuditEntry(tx, orgId, cause, {
    action: 'webhook.created',
    resource: resourceOf(id),
    after: auditedFields(webhook),
  });
  return { webhook, secret };
}

export async function readWebhook(db: Db, orgId: OrgId, mode: Mode, id: WebhookId | null): Promise<Webhook> {
  const found = id === null ? null : await findWebhook(db, orgId, mode, id);
  if (found === null) throw new Fault('WEBHOOK_NOT_FOUND');
  return found;
}

export async function changeWebhook(
  tx: Tx,
  deps: WebhookDeps,
  call: CallContext,
  id: WebhookId | null,
  request: {
    readonly url?: string | undefined;
    readonly description?: string | undefined;
    readonly eventTypes?: readonly string[] | undefined;
    readonly status?: 'enabled' | 'disabled' | undefined;
  },
): Promise<Webhook> {
  if (request.url !== undefined) requireDeliverableUrl(deps.guard, request.url);
  const before = await requireWritableWebhook(tx, call, id);
  // Repeating the current status keeps the reason why the webhook is disabled.
  const status = request.status === before.status ? undefined : request.status;
  const changed = await updateWebhook(tx, before, {
    url: request.url,
    description: request.description,
    eventTypes: request.eventTypes === undefined ? undefined : [...new Set(request.eventTypes)],
    status: status === 'disabled' ? { disabledReason: 'Disabled by its owner.' } : status,
  });
  if (changed === null) throw new Fault('WEBHOOK_NOT_FOUND');
  await updateQueueAfterChange(tx, before, changed);
  await appendAuditEntry(tx, call.orgId, call.cause, {
    action: 'webhook.updated',
    resource: resourceOf(changed.id),
    before: auditedFields(before),
    after: auditedFields(changed),
  });
  return changed;
}

/** Retries pending deliveries at once if the webhook was enabled or moved, and abandons them if it was disabled. */
async function updateQueueAfterChange(tx: Tx, before: Webhook, now: Webhook): Promise<void> {
  const { orgId, id } = now;
  if (now.status === 'disabled') {
    await abandonDeliveries(tx, { webhookId: id, limit: ABANDON_BATCH });
  } else if (before.status === 'disabled' || before.url !== now.url) {
    await wakeQueue(tx, orgId, id, { fresh: true });
  }
}

/** Deliveries stop at once; their records are deleted by the usual retention. */
export async function deleteWebhook(tx: Tx, call: CallContext, id: WebhookId | null): Promise<void> {
  const before = await requireWritableWebhook(tx, call, id);
  const deleted = await updateWebhook(tx, before, {
    status: { disabledReason: 'Deleted by its owner.' },
    deleted: true,
  });
  if (deleted === null) throw new Fault('WEBHOOK_NOT_FOUND');
  await abandonDeliveries(tx, { webhookId: before.id, limit: ABANDON_BATCH });
  await appendAuditEntry(tx, call.orgId, call.cause, {
    action: 'webhook.deleted',
    resource: resourceOf(before.id),
    before: auditedFields(before),
  });
}

/** The previous secret also signs until the overlap ends; older ones do not. */
export async function rotateSecret(
  tx: Tx,
  deps: WebhookDeps,
  call: CallContext,
  id: WebhookId | null,
  overlapMs: number,
): Promise<WebhookWithSecret> {
  const { sealer } = deps;
  const before = await requireWritableWebhook(tx, call, id);
  const secret = mintSecret();
  const until = new Date(tx.clock.nowMs() + overlapMs);
  const old = overlapMs === 0 ? null : sealAsPrevious(sealer, before.id, before.secrets);
  const previous = old === null ? null : { sealed: old, until };
  const sealed = sealSecret(sealer, before.id, 'current', secret);
  const webhook = await updateWebhook(tx, before, { secret: { sealed, previous } });
  if (webhook === null) throw new Fault('WEBHOOK_NOT_FOUND');
  await appendAuditEntry(tx, call.orgId, call.cause, {
    action: 'webhook.secret_rotated',
    resource: resourceOf(webhook.id),
    after: { previousUntil: previous === null ? null : until.toISOString() },
  });
  return { webhook, secret };
}

export async function readDeliveries(
  db: Db,
  orgId: OrgId,
  mode: Mode,
  id: WebhookId | null,
  page: { readonly limit: number; readonly before: number | null; readonly status: DeliveryStatus | null },
): Promise<readonly Delivery[]> {
  const webhook = await readWebhook(db, orgId, mode, id);
  return listDeliveries(db, orgId, webhook.id, page);
}

export async function requestReplay(
  tx: Tx,
  call: CallContext,
  which: { readonly webhookId: WebhookId | null; readonly deliveryId: DeliveryId | null },
): Promise<Delivery> {
  const webhook = await requireWritableWebhook(tx, call, which.webhookId, 'WEBHOOK_DELIVERY_NOT_FOUND');
  requireEnabled(webhook);
  const { deliveryId } = which;
  const replayed = deliveryId === null ? null : await replayDelivery(tx, call.orgId, webhook.id, deliveryId);
  if (replayed === null) throw new Fault('WEBHOOK_DELIVERY_NOT_FOUND');
  await appendAuditEntry(tx, call.orgId, call.cause, {
    action: 'webhook.replayed',
    resource: resourceOf(webhook.id),
    after: { deliveryId: replayed.id, seq: replayed.seq },
  });
  return replayed;
}

export async function requestRangeReplay(
  tx: Tx,
  call: CallContext,
  id: WebhookId | null,
  range: { readonly after: number; readonly until: number | null },
): Promise<{ readonly webhook: Webhook; readonly replayed: ReplayedRange }> {
  const webhook = await requireWritableWebhook(tx, call, id);
  requireEnabled(webhook);
  const replayed = await replayRange(tx, webhook, { ...range, limit: REPLAY_MAX });
  await appendAuditEntry(tx, call.orgId, call.cause, {
    action: 'webhook.replayed',
    resource: resourceOf(webhook.id),
    after: { after: range.after, until: range.until, eventCount: replayed.count },
  });
  return { webhook, replayed };
}

async function requireWritableWebhook(
  tx: Tx,
  call: CallContext,
  id: WebhookId | null,
  absent: 'WEBHOOK_NOT_FOUND' | 'WEBHOOK_DELIVERY_NOT_FOUND' = 'WEBHOOK_NOT_FOUND',
): Promise<Webhook> {
  await authorizeCaller(tx, call, 'webhooks:write');
  const found = id === null ? null : await findWebhook(tx, call.orgId, call.cause.mode, id);
  if (found === null) throw new Fault(absent);
  return found;
}

function requireEnabled(webhook: Webhook): void {
  if (webhook.status === 'disabled') throw new Fault('WEBHOOK_DISABLED');
}

function resourceOf(id: WebhookId) {
  return { kind: 'webhook', id };
}

function auditedFields({ url, description, eventTypes, status }: Webhook) {
  return { url: originOf(url), description, eventTypes, status };
}
