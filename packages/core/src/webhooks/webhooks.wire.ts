import type { ResponseBody, contract, EventType } from '@millrace/contract';
import type { Delivery, Webhook } from './webhook.ts';

type Operations = (typeof contract)['operations'];
type WireWebhook = ResponseBody<Operations['getWebhook']>;
type WireDelivery = ResponseBody<Operations['replayWebhookDelivery']>;

export function toWireWebhook(webhook: Webhook): WireWebhook {
  return {
    id: webhook.id,
    url: webhook.url,
    description: webhook.description,
    // The contract validated the types when they were stored.
    eventTypes: webhook.eventTypes as ('*' | EventType)[],
    status: webhook.status,
    disabledReason: webhook.disabledReason,
    createdAt: webhook.createdAt.toISOString(),
    updatedAt: webhook.updatedAt.toISOString(),
    lastSucceededAt: webhook.lastSucceededAt?.toISOString() ?? null,
    failingSince: webhook.failingSince?.toISOString() ?? null,
  };
}

export function toWireDelivery(delivery: Delivery): WireDelivery {
  return {
    id: delivery.id,
    webhookId: delivery.webhookId,
    eventId: delivery.eventId,
    eventType: delivery.eventType as EventType,
    seq: delivery.seq,
    status: delivery.status,
    attempts: delivery.attempts.map((attempt) => ({ ...attempt })),
    nextAttemptAt: delivery.nextAttemptAt?.toISOString() ?? null,
    createdAt: delivery.createdAt.toISOString(),
  };
}
