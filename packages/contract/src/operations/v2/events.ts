import { z } from 'zod';
import { withoutBidiControls } from '../../bidi-text.ts';
import { eventEnvelope, eventTypeNames } from '../../events.ts';
import {
  eventId,
  noContent,
  v2Operation,
  pageOf,
  pageQuery,
  pageSizeDefault,
  pageSizeMax,
  prefixedId,
  timestamp,
} from '../../operation-builders.ts';

/** The event feed, and the webhooks that push the same events. */

const eventsPage = z
  .object({
    items: z.array(eventEnvelope).max(pageSizeMax),
    nextCursor: z.string().nullable().meta({
      description: 'What to send as `after` for the next page; null when the feed is read to its end.',
    }),
    nextAfter: z.int().nonnegative().meta({
      description: 'What to send as `after` to continue from here, also when there is nothing more yet.',
    }),
    lastSeq: z.int().nonnegative().meta({
      description:
        'The number of the newest event, 0 before the first: as `after`, it skips what was and leaves what is to come.',
    }),
  })
  .meta({ id: 'EventsPage' });

const feedOperations = {
  listEvents: v2Operation('GET /v2/events', {
    scope: 'events:read',
    summary: 'Read the event feed, oldest first',
    description:
      'Answers a page, or with `Accept: text/event-stream` stays open and sends every later event as it happens: `id` is the `seq`, so a client that reconnects with `Last-Event-ID` continues without a skip or a repeat. With `after=latest` only what happens from now on: the page is empty and tells the present position in `nextAfter`; the stream sends that position first, as an `id` without data, so that nothing is skipped if it breaks before the first event.',
    tags: ['events'],
    query: z.object({
      after: z
        .union([z.literal('latest'), z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER)])
        .default(0)
        .meta({
          description: 'Answer events with a greater `seq`; `latest`: only those from now on.',
        }),
      limit: z.coerce.number().int().min(1).max(pageSizeMax).default(pageSizeDefault),
    }),
    response: { status: 200, schema: eventsPage, sse: true, event: eventEnvelope },
  }),
} as const;

const webhookId = prefixedId('whk', 'a webhook');
const deliveryId = prefixedId('dlv', 'a webhook delivery');

const eventType = z.enum(eventTypeNames).meta({ id: 'EventType', 'x-extensible': true });

/** The released bound. It must not grow with new event types: clients were told not to expect more. */
const SUBSCRIBED_TYPES_MAX = 36;

const subscribedTypes = z
  .array(z.union([z.literal('*'), eventType]))
  .min(1)
  .max(SUBSCRIBED_TYPES_MAX)
  .meta({ description: 'Types to send; `*` is every type, also those added later.' });

const webhookUrl = z
  .url({ protocol: /^https$/, error: 'must be a URL that begins with https://' })
  .max(2048)
  .meta({
    description: 'Reached over https only, and never inside the operator’s own networks.',
  });

const webhookFields = {
  id: webhookId,
  url: webhookUrl,
  description: z.string().max(255),
  eventTypes: subscribedTypes,
  status: z.enum(['enabled', 'disabled']),
  disabledReason: z.string().nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
  lastSucceededAt: timestamp.nullable(),
  failingSince: timestamp.nullable(),
};

const webhook = z.object(webhookFields).meta({ id: 'Webhook' });

const webhookWithSecret = z
  .object({
    ...webhookFields,
    secret: z.string().nullable().meta({
      description: 'The signing secret, `whsec_…`, shown this once. A replay answers null.',
    }),
  })
  .meta({ id: 'WebhookWithSecret' });

const delivery = z
  .object({
    id: deliveryId,
    webhookId,
    eventId,
    eventType,
    seq: z.int().positive(),
    status: z.enum(['pending', 'succeeded', 'failed', 'abandoned']),
    attempts: z.array(
      z.object({
        at: timestamp,
        httpStatus: z.int().nullable(),
        error: z.string().nullable(),
        durationMs: z.int().nonnegative(),
      }),
    ),
    nextAttemptAt: timestamp.nullable(),
    createdAt: timestamp,
  })
  .meta({ id: 'WebhookDelivery' });

const webhookParams = z.object({ webhookId });

const webhookOperations = {
  createWebhook: v2Operation('POST /v2/webhooks', {
    scope: 'webhooks:write',
    summary: 'Create a webhook',
    description:
      'Deliveries follow Standard Webhooks 1.0 and are signed with the secret in the answer. A webhook made with a test key gets test events, one made with a live key gets live events.',
    tags: ['webhooks'],
    body: z
      .object({
        url: webhookUrl,
        description: withoutBidiControls(z.string().trim().max(255)).default(''),
        eventTypes: subscribedTypes.default(['*']),
      })
      .meta({ id: 'WebhookCreate' }),
    response: { status: 201, schema: webhookWithSecret },
    refuses: [409, 422],
    idempotency: 'key',
    redactForReplay: ['secret'],
  }),
  listWebhooks: v2Operation('GET /v2/webhooks', {
    scope: 'webhooks:read',
    summary: 'List webhooks',
    tags: ['webhooks'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(webhook) },
  }),
  getWebhook: v2Operation('GET /v2/webhooks/{webhookId}', {
    scope: 'webhooks:read',
    summary: 'Read a webhook',
    tags: ['webhooks'],
    params: webhookParams,
    response: { status: 200, schema: webhook },
    notFoundReason: 'WEBHOOK_NOT_FOUND',
  }),
  updateWebhook: v2Operation('PATCH /v2/webhooks/{webhookId}', {
    scope: 'webhooks:write',
    summary: 'Change a webhook, switch it off or on again',
    tags: ['webhooks'],
    params: webhookParams,
    body: z
      .object({
        url: webhookUrl.optional(),
        description: withoutBidiControls(z.string().trim().max(255)).optional(),
        eventTypes: subscribedTypes.optional(),
        status: z.enum(['enabled', 'disabled']).optional(),
      })
      .meta({ id: 'WebhookUpdate' }),
    response: { status: 200, schema: webhook },
    refuses: [422],
    notFoundReason: 'WEBHOOK_NOT_FOUND',
  }),
  deleteWebhook: v2Operation('DELETE /v2/webhooks/{webhookId}', {
    scope: 'webhooks:write',
    summary: 'Delete a webhook',
    tags: ['webhooks'],
    params: webhookParams,
    response: noContent,
    notFoundReason: 'WEBHOOK_NOT_FOUND',
  }),
  rotateWebhookSecret: v2Operation('POST /v2/webhooks/{webhookId}/rotate-secret', {
    scope: 'webhooks:write',
    summary: 'Give a webhook a new signing secret',
    description: 'For `overlapSeconds` every delivery carries a signature by each of the two secrets.',
    tags: ['webhooks'],
    params: webhookParams,
    body: z
      .object({
        overlapSeconds: z
          .int()
          .min(0)
          .max(7 * 24 * 3600)
          .default(24 * 3600),
      })
      .meta({ id: 'WebhookSecretRotate' }),
    response: { status: 201, schema: webhookWithSecret },
    idempotency: 'key',
    notFoundReason: 'WEBHOOK_NOT_FOUND',
    redactForReplay: ['secret'],
  }),
  listWebhookDeliveries: v2Operation('GET /v2/webhooks/{webhookId}/deliveries', {
    scope: 'webhooks:read',
    summary: 'List deliveries and their attempts, newest first',
    tags: ['webhooks'],
    params: webhookParams,
    query: pageQuery.extend({ status: delivery.shape.status.optional() }),
    response: { status: 200, schema: pageOf(delivery) },
    notFoundReason: 'WEBHOOK_NOT_FOUND',
  }),
  replayWebhookDelivery: v2Operation('POST /v2/webhooks/{webhookId}/deliveries/{deliveryId}/replay', {
    scope: 'webhooks:write',
    summary: 'Send one delivery again',
    tags: ['webhooks'],
    params: z.object({ webhookId, deliveryId }),
    response: { status: 202, schema: delivery },
    idempotency: 'key',
    notFoundReason: 'WEBHOOK_DELIVERY_NOT_FOUND',
  }),
  replayWebhook: v2Operation('POST /v2/webhooks/{webhookId}/replay', {
    scope: 'webhooks:write',
    summary: 'Send every event of a range again, in order',
    description:
      'Those that the webhook wants and the feed still keeps, whether they were sent before or not. Events about one thing are sent in order, one after the other.',
    tags: ['webhooks'],
    params: webhookParams,
    body: z
      .object({
        after: z.int().min(0).meta({ description: 'Events with a greater `seq` are sent.' }),
        until: z
          .int()
          .min(1)
          .optional()
          .meta({ description: 'The last `seq` to send; left out: up to now.' }),
      })
      .meta({ id: 'WebhookReplay' }),
    response: {
      status: 202,
      schema: z.object({
        webhookId,
        eventCount: z.int().nonnegative(),
        nextAfter: z.int().positive().nullable().meta({
          description:
            'What to send as `after` for the rest of a range that was too long for one call; null: that was all.',
        }),
      }),
    },
    idempotency: 'key',
    notFoundReason: 'WEBHOOK_NOT_FOUND',
  }),
} as const;

export const eventOperations = { ...feedOperations, ...webhookOperations } as const;
