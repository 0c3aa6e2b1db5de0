import type { Db } from '@millrace/platform/db';
import { fromUuid, toUuid } from '@millrace/platform/ids';
import type { ReceivedDelivery } from '@millrace/testing';
import { Webhook } from 'standardwebhooks';
import type { TestWebhook } from './tenants.ts';

export interface DeliveryCheckReport {
  readonly failures: readonly string[];
  readonly repeats: number;
}

const FAILURES_SHOWN = 5;

/**
 * Compares the deliveries of one webhook with the events: each event at least once, those of one resource in order of seq. Only
 * repeats may arrive out of order, because their worker may have been frozen.
 */
export async function checkDeliveries(
  db: Db,
  webhook: TestWebhook,
  received: readonly ReceivedDelivery[],
): Promise<DeliveryCheckReport> {
  const events = await db.kysely
    .selectFrom('events')
    .select(['id', 'seq', 'resource_id'])
    .where('org_id', '=', toUuid(webhook.orgId))
    .orderBy('seq')
    .execute();
  const failures: string[] = [];
  const own = received.filter(({ path }) => path === webhook.path);
  const first = new Map<string, ReceivedDelivery>();
  for (const delivery of own) if (!first.has(delivery.event.id)) first.set(delivery.event.id, delivery);
  const missing = events.filter(({ id }) => !first.has(fromUuid('evt', id)));
  if (missing.length > 0)
    failures.push(`${missing.length} of ${events.length} events never reached ${webhook.path}`);
  if (first.size + missing.length !== events.length) failures.push(`${webhook.path} got events of others`);
  const newest = new Map<string, number>();
  for (const { event } of first.values()) {
    const before = newest.get(event.resource.id) ?? 0;
    if (event.seq < before) {
      failures.push(`${webhook.path}: ${event.seq} of ${event.resource.id} came after ${before}`);
    }
    newest.set(event.resource.id, Math.max(before, event.seq));
  }
  failures.push(...own.flatMap((delivery) => problemWith(delivery, webhook)));
  return { failures: failures.slice(0, FAILURES_SHOWN), repeats: own.length - first.size };
}

function problemWith(
  { payload, headers, event }: ReceivedDelivery,
  { secret, orgId }: TestWebhook,
): string[] {
  try {
    // Receivers refuse timestamps older than five minutes, and this check runs later, so it verifies with the signed time. Tests
    // beside the feature verify deliveries as they arrive.
    const signedAt = new Date(Number(headers['webhook-timestamp']) * 1_000);
    const expected = new Webhook(secret).sign(String(headers['webhook-id']), signedAt, payload);
    if (!String(headers['webhook-signature']).split(' ').includes(expected))
      return [`${event.id} is not signed with its secret`];
    const body = JSON.parse(payload) as { readonly orgId: string };
    return body.orgId === orgId ? [] : [`${event.id} belongs to another organisation`];
  } catch (error) {
    return [`${event.id} does not verify: ${String(error)}`];
  }
}
