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

/** The event feed and its webhooks. */

const eventsPage = z
  .object({
    items: z.array(eventEnvelope).max(pageSizeMax),
    nextCursor: z.string().nullable().meta({
      description: 'Send this as `after` for the next page; null at the end of the feed.',
    }),
    nextAfter: z.int().nonnegative().meta({
      description: 'Send this as `after` to continue from here later, also at the end of the feed.',
    }),
    lastSeq: z.int().nonnegative().meta({
      description:
        'The number of the newest event, 0 before the first. As `after`, it skips all past events.',
    }),
  })
  .meta({ id: 'EventsPage' });

const feedOperations = {
  listEvents: v2Operation('GET /v2/events', {
    scope: 'events:read',
    summary: 'Read the event feed, oldest first',
    description:
      'Returns a page. With `Accept: text/event-stream` the response stays open and sends every later event: `id` is the `seq`, so a client that reconnects with `Last-Event-ID` continues without gaps or repeats. `after=latest` skips past events: the page is empty and has the current position in `nextAfter`; the stream sends that position first, as an `id` without data, so that no event is skipped if it breaks before the first one.',
    tags: ['events'],
    query: z.object({
      after: z
        .union([z.literal('latest'), z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER)])
        .default(0)
        .meta({
          description: 'Return events with a greater `seq`; `latest`: only future events.',
        }),
      limit: z.coerce.number().int().min(1).max(pageSizeMax).default(pageSizeDefault),
    }),
    response: { status: 200, schema: eventsPage, sse: true, event: eventEnvelope },
  }),
} as const;

const webhookId = prefixedId('whk', 'a webhook');
const deliveryId = prefixedId('dlv', 'a webhook delivery');

const eventType = z.enum(eventTypeNames).meta({ id: 'EventType', 'x-extensible': true });

/** The published limit. It must not grow with new event types, because clients rely on it. */
const SUBSCRIBED_TYPES_MAX = 36;

const subscribedTypes = z
  .array(z.union([z.literal('*'), eventType]))
  .min(1)
  .max(SUBSCRIBED_TYPES_MAX)
  .meta({ description: 'Event types to send; `*` means all types, including future ones.' });

const webhookUrl = z
  .url({ protocol: /^https$/, error: 'must be a URL that begins with https://' })
  .max(2048)
  .meta({
    description: 'Called over https only, and never inside the operator’s own networks.',
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
      description: 'The signing secret, `whsec_…`, shown only once. A replay returns null.',
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
      'Deliveries follow Standard Webhooks 1.0 and are signed with the secret in the response. A webhook created with a test key gets test events, one created with a live key gets live events.',
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
    summary: 'Change, disable or enable a webhook',
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
    summary: 'Rotate the signing secret of a webhook',
    description: 'For `overlapSeconds`, every delivery has a signature of each of the two secrets.',
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
    summary: 'Send all events of a range again, in order',
    description:
      'Sends the events in the feed that the webhook subscribes to, whether they were sent before or not. Events of one resource are sent in order, one after the other.',
    tags: ['webhooks'],
    params: webhookParams,
    body: z
      .object({
        after: z.int().min(0).meta({ description: 'Events with a greater `seq` are sent.' }),
        until: z
          .int()
          .min(1)
          .optional()
          .meta({ description: 'The last `seq` to send. Default: the newest event.' }),
      })
      .meta({ id: 'WebhookReplay' }),
    response: {
      status: 202,
      schema: z.object({
        webhookId,
        eventCount: z.int().nonnegative(),
        nextAfter: z.int().positive().nullable().meta({
          description:
            'Send this as `after` for the rest of a range that is too long for one request; null: the range is complete.',
        }),
      }),
    },
    idempotency: 'key',
    notFoundReason: 'WEBHOOK_NOT_FOUND',
  }),
} as const;

export const eventOperations = { ...feedOperations, ...webhookOperations } as const;
