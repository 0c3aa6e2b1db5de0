import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/root-routes.tsx';
import { deliveryStatuses, type DeliveryStatus } from './webhook-text.ts';

export const webhookRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'webhooks',
    component: lazyRouteComponent(() => import('./webhooks-page.tsx'), 'WebhooksPage'),
  }),
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'webhooks/$webhookId',
    validateSearch: (search: Record<string, unknown>): { status?: DeliveryStatus } => {
      const status = deliveryStatuses.find((each) => each === search['status']);
      return status === undefined ? {} : { status };
    },
    component: lazyRouteComponent(() => import('./webhook-page.tsx'), 'WebhookPage'),
  }),
] as const;
