export { defaultDelivererTuning, startDeliverer, type Deliverer, type DelivererTuning } from './deliverer.ts';
export { resealWebhooks, tidyWebhooks } from './housekeeping.ts';
export { createPost, type Post } from './post.ts';
export { serveWebhooks, type WebhookRoutes } from './webhooks.routes.ts';
