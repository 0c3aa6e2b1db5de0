export { defaultDelivererTuning, startDeliverer, type Deliverer, type DelivererTuning } from './deliverer.ts';
export { resealWebhooks, cleanUpWebhooks } from './housekeeping.ts';
export { createWebhookSender, type SendWebhook } from './post.ts';
export { serveWebhooks, type WebhookRoutes } from './webhooks.routes.ts';
