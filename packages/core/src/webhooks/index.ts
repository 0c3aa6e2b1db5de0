export { defaultDelivererTuning, startDeliverer, type Deliverer, type DelivererTuning } from './deliverer.ts';
export { measureQueues } from './queue.store.ts';
export { resealWebhooks, cleanUpWebhooks } from './webhook-cleanup.ts';
export { createWebhookSender, type SendWebhook } from './webhook-sender.ts';
export { serveWebhooks, type WebhookRoutes } from './webhooks.routes.ts';
