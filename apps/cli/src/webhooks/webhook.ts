import type { Item } from '../sdk.ts';
import { timestampText } from '../text/timestamps.ts';

type Webhook = Item<'listWebhooks'>;
type Delivery = Item<'listWebhookDeliveries'>;

const timestampOrEmpty = (instant: string | null): string => (instant === null ? '' : timestampText(instant));

export const webhookColumns = [
  { name: 'id', value: (webhook: Webhook) => webhook.id },
  { name: 'url', value: (webhook: Webhook) => webhook.url },
  { name: 'types', value: ({ eventTypes }: Webhook) => eventTypes.join(' ') },
  { name: 'status', value: (webhook: Webhook) => webhook.status },
  { name: 'reason', value: (webhook: Webhook) => webhook.disabledReason },
  { name: 'last success', value: (webhook: Webhook) => timestampOrEmpty(webhook.lastSucceededAt) },
  { name: 'failing since', value: (webhook: Webhook) => timestampOrEmpty(webhook.failingSince) },
  { name: 'description', value: (webhook: Webhook) => webhook.description },
] as const;

function lastResponse({ attempts }: Delivery): string {
  const last = attempts.at(-1);
  if (last === undefined) return '';
  return last.httpStatus === null ? (last.error ?? 'no response') : String(last.httpStatus);
}

export const deliveryColumns = [
  { name: 'created', value: (delivery: Delivery) => timestampText(delivery.createdAt) },
  { name: 'seq', align: 'right', value: (delivery: Delivery) => delivery.seq },
  { name: 'type', value: (delivery: Delivery) => delivery.eventType },
  { name: 'status', value: (delivery: Delivery) => delivery.status },
  { name: 'attempts', align: 'right', value: (delivery: Delivery) => delivery.attempts.length },
  { name: 'answer', value: lastResponse },
  { name: 'next', value: (delivery: Delivery) => timestampOrEmpty(delivery.nextAttemptAt) },
  { name: 'id', value: (delivery: Delivery) => delivery.id },
  { name: 'event', extra: true, value: (delivery: Delivery) => delivery.eventId },
] as const;

export const typesFlag = {
  type: 'list',
  value: 'TYPES',
  describe: 'only these event types, such as rental.running; default: all',
} as const;
