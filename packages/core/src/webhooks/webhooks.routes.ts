import type { Contract } from '@millrace/contract';
import type { Db } from '@millrace/platform/db';
import { decodeCursor, requirePrincipal, toPage, type HttpServer } from '@millrace/platform/http';
import { parseId } from '@millrace/platform/ids';
import { secondsToMs } from '@millrace/platform/money';
import { z } from 'zod';
import { callContextOf, pageById, positionFromCursor, readCommitted } from '../identity/index.ts';
import { REPLAY_MAX } from './webhook.ts';
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  readDeliveries,
  readWebhook,
  rotateSecret,
  requestReplay,
  requestRangeReplay,
  type WebhookDeps,
} from './webhooks.service.ts';
import { listWebhooks } from './webhooks.store.ts';
import { toWireDelivery, toWireWebhook } from './webhooks.wire.ts';

export interface WebhookRoutes extends WebhookDeps {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
}

const resourceOf = (id: string) => ({ kind: 'webhook', id });
const webhookIdOf = (params: { readonly webhookId: string }) => parseId('whk', params.webhookId);

export function serveWebhooks(routes: WebhookRoutes): void {
  serveWebhookResources(routes);
  serveSecrets(routes);
  serveDeliveries(routes);
}

function serveWebhookResources(routes: WebhookRoutes): void {
  const { server, operations, db } = routes;
  server.serve(operations.createWebhook, ({ body, context, transact }) =>
    transact({ name: 'create webhook', isolation: readCommitted }, async (tx) => {
      const { webhook, secret } = await createWebhook(tx, routes, callContextOf(context), body);
      return { body: { ...toWireWebhook(webhook), secret }, resource: resourceOf(webhook.id) };
    }),
  );

  server.serve(operations.listWebhooks, async ({ query, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    const { limit } = query;
    const after = positionFromCursor('whk', query.cursor);
    return pageById(await listWebhooks(db, orgId, mode, { limit, after }), limit, toWireWebhook);
  });

  server.serve(operations.getWebhook, async ({ params, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    return toWireWebhook(await readWebhook(db, orgId, mode, webhookIdOf(params)));
  });

  server.serve(operations.updateWebhook, ({ params, body, context, transact }) =>
    transact({ name: 'change webhook', isolation: readCommitted }, async (tx) => {
      const changed = await changeWebhook(tx, routes, callContextOf(context), webhookIdOf(params), body);
      return { body: toWireWebhook(changed) };
    }),
  );

  server.serve(operations.deleteWebhook, ({ params, context, transact }) =>
    transact({ name: 'delete webhook', isolation: readCommitted }, async (tx) => {
      await deleteWebhook(tx, callContextOf(context), webhookIdOf(params));
      return { body: undefined };
    }),
  );
}

function serveSecrets(routes: WebhookRoutes): void {
  const { server, operations } = routes;
  server.serve(operations.rotateWebhookSecret, ({ params, body, context, transact }) =>
    transact({ name: 'rotate webhook secret', isolation: readCommitted }, async (tx) => {
      const overlapMs = secondsToMs(body.overlapSeconds);
      const call = callContextOf(context);
      const { webhook, secret } = await rotateSecret(tx, routes, call, webhookIdOf(params), overlapMs);
      return { body: { ...toWireWebhook(webhook), secret }, resource: resourceOf(webhook.id) };
    }),
  );
}

const deliveryCursorSchema = z.strictObject({ seq: z.int().positive() });

function serveDeliveries({ server, operations, db }: WebhookRoutes): void {
  server.serve(operations.listWebhookDeliveries, async ({ params, query, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    const { limit, status = null } = query;
    const before = query.cursor === undefined ? null : decodeCursor(query.cursor, deliveryCursorSchema).seq;
    const rows = await readDeliveries(db, orgId, mode, webhookIdOf(params), { limit, before, status });
    return toPage({ rows, limit, toItem: toWireDelivery, positionOf: ({ seq }) => ({ seq }) });
  });

  server.serve(operations.replayWebhookDelivery, ({ params, context, transact }) =>
    transact({ name: 'replay delivery', isolation: readCommitted }, async (tx) => {
      const deliveryId = parseId('dlv', params.deliveryId);
      const delivery = await requestReplay(tx, callContextOf(context), {
        webhookId: webhookIdOf(params),
        deliveryId,
      });
      return { body: toWireDelivery(delivery), resource: resourceOf(delivery.webhookId) };
    }),
  );

  server.serve(operations.replayWebhook, ({ params, body, context, transact }) =>
    transact({ name: 'replay events', isolation: readCommitted }, async (tx) => {
      const { after, until = null } = body;
      const call = callContextOf(context);
      const { webhook, replayed } = await requestRangeReplay(tx, call, webhookIdOf(params), { after, until });
      const { count: eventCount, lastSeq } = replayed;
      const nextAfter = eventCount < REPLAY_MAX ? null : lastSeq;
      return { body: { webhookId: webhook.id, eventCount, nextAfter }, resource: resourceOf(webhook.id) };
    }),
  );
}
